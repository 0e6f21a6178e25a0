import { openSync } from 'node:fs';
import pino, { type DestinationStream } from 'pino';
import type { RouterConfig } from '../../../src/config/router-config';
import { KvasirError } from '../../../src/errors';
import type { Random } from '../../lib/random';
import { type AccessRecord, formatAccessText } from './access-record';

/** Where access records go, one line each. */
export interface AccessLog {
  /** Whether a request that ended with `status` is to be written: errors always are, successes by the configured share. */
  wants(status: number): boolean;
  write(record: AccessRecord): void;
  close(): void;
}

/**
 * @param destination replaces the configured output.
 * @returns undefined when the log is off.
 * @throws KvasirError `access-log/cannot-open`.
 */
export function openAccessLog(
  config: RouterConfig['accessLog'],
  random: Random,
  destination?: DestinationStream,
): AccessLog | undefined {
  if (!config.enabled) return undefined;
  const stream = destination ?? openDestination(config.output);
  const format = config.format === 'json' ? JSON.stringify : formatAccessText;
  return {
    wants: (status) => status >= 400 || config.sampleRatio >= 1 || random.next() < config.sampleRatio,
    write: (record) => {
      stream.write(`${format(record)}\n`);
    },
    close: () => {
      if ('flushSync' in stream && typeof stream.flushSync === 'function') stream.flushSync();
    },
  };
}

function openDestination(output: string): DestinationStream {
  try {
    const fd = output === 'stdout' ? 1 : output === 'stderr' ? 2 : openSync(output, 'a', 0o644);
    // Written in blocks of 4 KB: a write call per request costs as much as the rest of the router together.
    return pino.destination({ dest: fd, minLength: 4096, sync: true });
  } catch (error) {
    throw new KvasirError(
      {
        code: 'access-log/cannot-open',
        field: 'accessLog.output',
        message: `cannot append to ${output} (${(error as NodeJS.ErrnoException).code})`,
        remedy: 'give stdout, stderr or a file in a folder that exists',
      },
      { cause: error },
    );
  }
}
