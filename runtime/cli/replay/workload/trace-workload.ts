import type { Random } from '../../../lib/random';
import { segmentedRequest } from './segmented-prompt';
import type { TracedRequest } from './traced-request';
import type { Workload } from './workload';

export interface TraceOptions {
  /** How many times as fast as the trace. @default 1 */
  readonly speed?: number;
  /** Only so many requests from the start. @default all */
  readonly limit?: number;
  /** Spreads requests that the trace puts at one instant over the time until its next one. @default no spreading */
  readonly jitter?: Random;
  readonly concurrency?: number;
}

/** A trace's requests, sent when it says. Clients say nothing of their answers' lengths. @param requests in order of arrival. */
export function traceWorkload(requests: readonly TracedRequest[], options: TraceOptions = {}): Workload {
  const { speed = 1, limit = requests.length, jitter, concurrency } = options;
  const used = requests.slice(0, limit);
  const firstMs = used[0]?.atMs ?? 0;
  const arrivals = jitter === undefined ? used.map(({ atMs }) => atMs) : spread(used, jitter);
  const sessions = used.map(({ segments, outputTokens }, index) => ({
    startMs: (arrivals[index]! - firstMs) / speed,
    requests: [segmentedRequest({ index, segments, outputTokens })],
  }));
  sessions.sort((a, b) => a.startMs - b.startMs);
  return { sessions, ...(concurrency === undefined ? {} : { concurrency }) };
}

/** Arrivals where those of one instant lie anywhere before the next instant, at most the usual distance of two instants away. */
function spread(requests: readonly TracedRequest[], random: Random): readonly number[] {
  const instants = [...new Set(requests.map(({ atMs }) => atMs))];
  const distances = instants.slice(1).map((at, i) => at - instants[i]!);
  const usual = [...distances].sort((a, b) => a - b)[distances.length >> 1] ?? 0;
  const counts = new Map<number, number>();
  for (const { atMs } of requests) counts.set(atMs, (counts.get(atMs) ?? 0) + 1);
  const slotOf = new Map(instants.map((at, i) => [at, counts.get(at)! > 1 ? Math.min(usual, distances[i] ?? usual) : 0]));
  return requests.map(({ atMs }) => atMs + random.next() * slotOf.get(atMs)!);
}
