import { seededRandom } from '../../../lib/random';
import { segmentedRequest } from '../../replay/workload/segmented-prompt';
import type { TracedRequest } from '../../replay/workload/traced-request';
import type { Day, DayRequest } from './day';
import { MOST_OUTPUT_TOKENS, type RequestLengths } from './request-lengths';

export interface TracedOptions {
  readonly trace: readonly TracedRequest[];
  readonly seed: number;
  readonly durationMs: number;
  /** Requests per second, on the mean: the trace is made slower or faster as a whole. */
  readonly meanRate: number;
  readonly lengths: RequestLengths;
}

/** Contents of one pass through the trace are named apart from those of the next by so many ids. */
const IDS_PER_PASS = 2 ** 24;

/**
 * A day of a recorded trace: its arrivals one after the other, at another pace, from a point that the seed chooses, as often around as the
 * day is long. Lengths keep their proportions and have the service's mean; what the trace's requests share they still share, within a pass.
 */
export function tracedDay({ trace, seed, durationMs, meanRate, lengths }: TracedOptions): Day {
  const random = seededRandom(seed);
  const firstMs = trace[0]!.atMs;
  // One mean gap after its last request the trace begins again.
  const spanMs = ((trace.at(-1)!.atMs - firstMs) * trace.length) / Math.max(1, trace.length - 1);
  const pace = spanMs === 0 ? 1 : (1000 * trace.length) / (meanRate * spanMs);
  const promptScale =
    lengths.promptTokens / meanOf(trace, ({ segments }) => segments.reduce((sum, { tokens }) => sum + tokens, 0));
  const outputScale = lengths.outputTokens / meanOf(trace, ({ outputTokens }) => outputTokens);
  const spread = instantLengthMs(trace);
  const startMs = random.next() * spanMs;
  const requests: DayRequest[] = [];
  for (let pass = 0; pass * spanMs * pace < durationMs + spanMs * pace; pass++) {
    for (const { atMs, segments, outputTokens } of trace) {
      const inPassMs = atMs - firstMs + random.next() * spread;
      const at = (pass * spanMs + inPassMs - startMs) * pace;
      if (at < 0 || at >= durationMs) continue;
      const index = requests.length;
      const scaled = segments.map(({ id, tokens }) => ({
        id: (id + pass * IDS_PER_PASS) % 2 ** 32,
        tokens: Math.max(1, Math.round(tokens * promptScale)),
      }));
      const output = Math.min(MOST_OUTPUT_TOKENS, Math.max(1, Math.round(outputTokens * outputScale)));
      requests.push({ atMs: at, request: segmentedRequest({ index, segments: scaled, outputTokens: output }) });
    }
  }
  requests.sort((a, b) => a.atMs - b.atMs);
  return { traffic: 'trace', seed, durationMs, requests };
}

/** Requests that the trace rounded to one instant lie anywhere before the next one: its usual distance of two instants. */
function instantLengthMs(trace: readonly TracedRequest[]): number {
  const gaps: number[] = [];
  for (let i = 1; i < trace.length; i++) {
    const gap = trace[i]!.atMs - trace[i - 1]!.atMs;
    if (gap > 0) gaps.push(gap);
  }
  return gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? 0;
}

function meanOf(trace: readonly TracedRequest[], value: (request: TracedRequest) => number): number {
  return trace.reduce((sum, request) => sum + value(request), 0) / trace.length;
}
