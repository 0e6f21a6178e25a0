import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An engine's answer as it was recorded, chunks joined. */
export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Reads `<name>.resp.http` of a recording under test/fixtures/engines. */
export function recordedAnswer(engine: string, name: string, folder = 'http'): RecordedAnswer {
  const raw = readFileSync(join(__dirname, '..', 'fixtures', 'engines', engine, folder, `${name}.resp.http`));
  const end = raw.indexOf('\r\n\r\n');
  const [statusLine, ...lines] = raw.toString('latin1', 0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  const body = raw.subarray(end + 4);
  return {
    status: Number(statusLine!.split(' ')[1]),
    headers,
    body: headers['transfer-encoding'] === 'chunked' ? dechunk(body) : body,
  };
}

/** The body of the recorded request. */
export function recordedRequestBody(engine: string, name: string, folder = 'http'): string {
  const raw = readFileSync(join(__dirname, '..', 'fixtures', 'engines', engine, folder, `${name}.req.http`), 'utf8');
  return raw.slice(raw.indexOf('\r\n\r\n') + 4);
}

function dechunk(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (!(size > 0)) break;
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(parts);
}
