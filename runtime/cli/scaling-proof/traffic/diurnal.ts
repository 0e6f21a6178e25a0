import { seededRandom } from '../../../lib/random';
import { segmentedRequest } from '../../replay/workload/segmented-prompt';
import type { Day, DayRequest } from './day';
import { drawTokens, MOST_OUTPUT_TOKENS, MOST_PROMPT_TOKENS, type RequestLengths } from './request-lengths';

export interface DiurnalOptions {
  readonly seed: number;
  readonly durationMs: number;
  /** Requests per second at the busiest time, bursts aside. */
  readonly peakRate: number;
  readonly lengths: RequestLengths;
  /** Unannounced bursts. @default none */
  readonly bursts?: number;
}

/** A time in which arrivals are `BURST_FACTOR` times as many. */
interface Burst {
  readonly fromMs: number;
  readonly toMs: number;
}

const PEAK_TO_TROUGH = 4;
const BURST_FACTOR = 1.5;
const SHORTEST_BURST_MS = 5 * 60_000;
const LONGEST_BURST_MS = 15 * 60_000;
/** Share of the day at which it is busiest: 16:00. */
const PEAK_AT = 2 / 3;
/** Applications, each with a system prompt of its own, and its share of the prompt. */
const APPLICATIONS = 8;
const SHARED_OF_PROMPT = 1 / 3;
const PROMPT_SIGMA = 0.8;
const OUTPUT_SIGMA = 0.7;

/** A day whose arrivals are a Poisson process that swings four to one, with bursts that nothing announces. Seeded. */
export function diurnalDay({ seed, durationMs, peakRate, lengths, bursts = 0 }: DiurnalOptions): Day {
  const random = seededRandom(seed);
  const times = burstTimes(bursts, durationMs, seed);
  const most = peakRate * (bursts > 0 ? BURST_FACTOR : 1);
  const sharedTokens = Math.round(lengths.promptTokens * SHARED_OF_PROMPT);
  const ownTokens = { mean: lengths.promptTokens - sharedTokens, sigma: PROMPT_SIGMA, most: MOST_PROMPT_TOKENS };
  const answer = { mean: lengths.outputTokens, sigma: OUTPUT_SIGMA, most: MOST_OUTPUT_TOKENS };
  const requests: DayRequest[] = [];
  for (let atMs = 0; ; ) {
    atMs += (-1000 * Math.log(1 - random.next())) / most;
    if (atMs >= durationMs) break;
    const rate = peakRate * swing(atMs / durationMs) * (times.some((each) => isIn(each, atMs)) ? BURST_FACTOR : 1);
    if (random.next() * most >= rate) continue;
    const index = requests.length;
    const application = Math.floor(random.next() * APPLICATIONS);
    const segments = [
      { id: application, tokens: sharedTokens },
      { id: APPLICATIONS + index, tokens: drawTokens(random, ownTokens) },
    ];
    const outputTokens = drawTokens(random, answer);
    requests.push({ atMs, request: segmentedRequest({ index, segments, outputTokens }) });
  }
  return { traffic: bursts > 0 ? 'bursts' : 'diurnal', seed, durationMs, requests };
}

/** Share of the peak at a time of the day, 1/4 to 1. */
function swing(time: number): number {
  const least = 1 / PEAK_TO_TROUGH;
  return (1 + least) / 2 + ((1 - least) / 2) * Math.cos(2 * Math.PI * (time - PEAK_AT));
}

/** One burst somewhere in each equal part of the day, so that none meets another. */
function burstTimes(count: number, durationMs: number, seed: number): readonly Burst[] {
  const random = seededRandom(seed ^ 0xb0_57);
  const partMs = durationMs / Math.max(1, count);
  return Array.from({ length: count }, (_, part) => {
    const lengthMs = Math.min(partMs, SHORTEST_BURST_MS + random.next() * (LONGEST_BURST_MS - SHORTEST_BURST_MS));
    const fromMs = part * partMs + random.next() * (partMs - lengthMs);
    return { fromMs, toMs: fromMs + lengthMs };
  });
}

function isIn({ fromMs, toMs }: Burst, atMs: number): boolean {
  return atMs >= fromMs && atMs < toMs;
}
