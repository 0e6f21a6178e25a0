import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { KvasirError } from '../../../../src/errors';
import { isAccessLogLine, LoggedRequests } from './access-log';
import { isMooncakeLine, mooncakeRequest } from './mooncake-trace';
import type { TracedRequest } from './traced-request';

const GZIP_MAGIC = 0x8b1f;

/**
 * Reads a trace in order of arrival: a Mooncake trace (hash ids of 512-token blocks), or Kvasir's JSON access log; gzip or plain, by content.
 *
 * @throws KvasirError `replay/cannot-read`, `replay/trace-line` for the first line that is of neither kind, `replay/empty-trace`.
 */
export function readTrace(file: string): readonly TracedRequest[] {
  const requests: TracedRequest[] = [];
  const logged = new LoggedRequests();
  linesOf(file).forEach((text, index) => {
    if (text.trim() === '') return;
    const line = parsed(text);
    if (isMooncakeLine(line)) requests.push(mooncakeRequest(line, index));
    else if (isAccessLogLine(line)) {
      const request = logged.request(line, index);
      if (request !== undefined) requests.push(request);
    } else throw unknownLine(file, index + 1, text);
  });
  if (requests.length === 0) {
    throw new KvasirError({
      code: 'replay/empty-trace',
      file,
      message: 'holds no request that an engine answered',
      remedy: 'give a trace or an access log with requests',
    });
  }
  return requests.sort((a, b) => a.atMs - b.atMs);
}

function linesOf(file: string): readonly string[] {
  try {
    const bytes = readFileSync(file);
    const isGzip = bytes.length > 2 && bytes.readUInt16LE(0) === GZIP_MAGIC;
    return (isGzip ? gunzipSync(bytes) : bytes).toString('utf8').split('\n');
  } catch (error) {
    throw new KvasirError(
      {
        code: 'replay/cannot-read',
        file,
        field: '--trace',
        message: `cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`,
        remedy: 'give a file that exists, plain or gzip',
      },
      { cause: error },
    );
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unknownLine(file: string, number: number, text: string): KvasirError {
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  return new KvasirError({
    code: 'replay/trace-line',
    file: `${file}:${number}`,
    message: `${JSON.stringify(shown)} is neither a request of a Mooncake trace nor a line of Kvasir's JSON access log`,
    remedy: 'give lines with timestamp, input_length, output_length and hash_ids, or a log written with accessLog.format: json',
  });
}
