import type { DestinationStream } from 'pino';
import type { RouterConfig } from '../../../src/config/router-config';
import { LineOutput } from './line-output';
import type { RequestTrace } from './request-trace';
import { usageRecord } from './usage-record';

/** Where usage records go, one JSON object a line. */
export interface UsageLog {
  /** Writes the record of a request that is over, if it used anything. */
  write(trace: RequestTrace): void;
  close(): void;
}

/**
 * @param destination replaces the configured output.
 * @returns undefined when no output is configured.
 * @throws KvasirError `access-log/cannot-open`.
 */
export function openUsageLog(config: RouterConfig['usage'], destination?: DestinationStream): UsageLog | undefined {
  if (config.output === undefined) return undefined;
  const output = LineOutput.open(config.output, 'usage.output', destination);
  return {
    write: (trace) => {
      const record = usageRecord(trace);
      if (record !== undefined) output.write(JSON.stringify(record));
    },
    close: () => output.close(),
  };
}
