import type { DestinationStream } from 'pino';
import type { RouterConfig } from '../../../src/config/router-config';
import type { Random } from '../../lib/random';
import { type AccessRecord, formatAccessText } from './access-record';
import { LineOutput } from './line-output';

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
  const output = LineOutput.open(config.output, 'accessLog.output', destination);
  const format = config.format === 'json' ? JSON.stringify : formatAccessText;
  return {
    wants: (status) => status >= 400 || config.sampleRatio >= 1 || random.next() < config.sampleRatio,
    write: (record) => output.write(format(record)),
    close: () => output.close(),
  };
}
