import { hostname } from 'node:os';
import type { DestinationStream } from 'pino';
import type { RouterConfig } from '../../../src/config/router-config';
import type { Clock } from '../../lib/clock';
import type { Logger } from '../../lib/logger';
import type { Random } from '../../lib/random';
import { type AccessLog, openAccessLog } from './access-log';
import type { DecisionLog } from './decisions';
import { LineOutput } from './line-output';
import type { SpanMetrics } from './span-metrics';
import { openTracing, type Tracing } from './tracing';
import { openUsageLog, type UsageLog } from './usage-log';

/** What is told of each request, as it goes. A part that is off is undefined. */
export interface Outputs {
  readonly accessLog: AccessLog | undefined;
  readonly usageLog: UsageLog | undefined;
  readonly decisionLog: DecisionLog | undefined;
  readonly tracing: Tracing | undefined;
}

export interface OutputOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly spanMetrics: SpanMetrics;
  /** Each replaces the output that the configuration names. */
  readonly accessLogDestination?: DestinationStream | undefined;
  readonly usageDestination?: DestinationStream | undefined;
  readonly decisionLogDestination?: DestinationStream | undefined;
}

/**
 * Opens what the configuration asks for.
 *
 * @param before what is open: a part whose section is the same object stays. Close it with `closeReplaced` when the new one is in use.
 * @throws KvasirError `access-log/cannot-open`.
 */
export async function openOutputs(
  config: RouterConfig,
  options: OutputOptions,
  before?: { readonly config: RouterConfig; readonly outputs: Outputs },
): Promise<Outputs> {
  const { clock, random, log, spanMetrics } = options;
  const keeps = (section: 'accessLog' | 'usage' | 'decisionLog' | 'tracing') => before?.config[section] === config[section];
  const opened: { close(): unknown }[] = [];
  const open = <T extends { close(): unknown }>(made: T | undefined): T | undefined => {
    if (made !== undefined) opened.push(made);
    return made;
  };
  try {
    const accessLog = keeps('accessLog')
      ? before?.outputs.accessLog
      : open(openAccessLog(config.accessLog, random, options.accessLogDestination));
    const usageLog = keeps('usage') ? before?.outputs.usageLog : open(openUsageLog(config.usage, options.usageDestination));
    const decisionLog = keeps('decisionLog')
      ? before?.outputs.decisionLog
      : open(openDecisionLog(config.decisionLog, options.decisionLogDestination));
    const tracing = keeps('tracing')
      ? before?.outputs.tracing
      : await openTracing({ config: config.tracing, clock, metrics: spanMetrics, log, instance: hostname() });
    return { accessLog, usageLog, decisionLog, tracing };
  } catch (error) {
    for (const each of opened) each.close();
    throw error;
  }
}

/** Closes what of `before` is not in use any more. @param now @default nothing is in use */
export async function closeReplaced(before: Outputs, now?: Outputs): Promise<void> {
  const parts = ['accessLog', 'usageLog', 'decisionLog', 'tracing'] as const;
  await Promise.all(parts.map((part) => (before[part] === now?.[part] ? undefined : before[part]?.close())));
}

function openDecisionLog(
  { output, sampleRatio }: RouterConfig['decisionLog'],
  stream?: DestinationStream,
): DecisionLog | undefined {
  if (output === undefined) return undefined;
  const lines = LineOutput.open(output, 'decisionLog.output', stream);
  return { sampleRatio, write: (line) => lines.write(line), close: () => lines.close() };
}
