import type { EngineCapacity } from './engine-capacity';

/** After this time without samples a learned rate is half-way back to its seed, so that a slow spell is not for ever. */
const HALF_LIFE_MS = 60_000;
/** How much the seed weighs against samples: prompt tokens for prefill, answers for decode. */
const SEED_TOKENS = 4096;
const SEED_ANSWERS = 4;
/** Batch sizes at which the seed's decode line is believed. */
const SEED_SEQUENCES = [1, 33] as const;
/** A rate is never believed further than this factor from its seed: one odd sample must not hide or flood an endpoint. */
const MOST_FACTOR = 32;

/** Time of one decode step as a function of the sequences in it. */
export interface DecodeRate {
  readonly baseSeconds: number;
  readonly perSequenceSeconds: number;
}

type Seed = Pick<EngineCapacity, 'prefillTokensPerSecond' | 'decodeBaseSeconds' | 'decodePerSequenceSeconds'>;

/** What one endpoint has shown of its speed. Old samples lose weight; without any the seeds hold. */
export class LearnedRates {
  private atMs = 0;
  private prefillTokens = 0;
  private prefillSeconds = 0;
  // Sums of the weighted least squares of seconds per token over sequences.
  private weight = 0;
  private sequences = 0;
  private sequencesSquared = 0;
  private seconds = 0;
  private sequenceSeconds = 0;

  constructor(private seed: Seed) {}

  setSeed(seed: Seed): void {
    this.seed = seed;
  }

  /** Forgets all samples, as after a restart. */
  reset(): void {
    this.prefillTokens = this.prefillSeconds = 0;
    this.weight = this.sequences = this.sequencesSquared = this.seconds = this.sequenceSeconds = 0;
  }

  /** @param tokens uncached prompt tokens. @param seconds from dispatch to the first token, with nothing queued before it. */
  observePrefill(tokens: number, seconds: number, nowMs: number): void {
    if (!(tokens > 0) || !(seconds > 0) || !Number.isFinite(tokens + seconds)) return;
    this.decayTo(nowMs);
    this.prefillTokens += tokens;
    this.prefillSeconds += seconds;
  }

  /** @param sequences mean number of sequences that ran there meanwhile, ≥ 1. */
  observeDecode(sequences: number, secondsPerToken: number, nowMs: number): void {
    if (!(sequences >= 1) || !(secondsPerToken > 0) || !Number.isFinite(sequences + secondsPerToken)) return;
    this.decayTo(nowMs);
    this.weight += 1;
    this.sequences += sequences;
    this.sequencesSquared += sequences * sequences;
    this.seconds += secondsPerToken;
    this.sequenceSeconds += sequences * secondsPerToken;
  }

  /** Uncached prompt tokens per second, above 0. */
  prefillTokensPerSecond(nowMs: number): number {
    this.decayTo(nowMs);
    const seed = this.seed.prefillTokensPerSecond;
    const learned = (SEED_TOKENS + this.prefillTokens) / (SEED_TOKENS / seed + this.prefillSeconds);
    return clamp(learned, seed / MOST_FACTOR, seed * MOST_FACTOR);
  }

  decode(nowMs: number): DecodeRate {
    this.decayTo(nowMs);
    let { weight, sequences, sequencesSquared, seconds, sequenceSeconds } = this;
    for (const n of SEED_SEQUENCES) {
      const y = this.seed.decodeBaseSeconds + n * this.seed.decodePerSequenceSeconds;
      weight += SEED_ANSWERS;
      sequences += SEED_ANSWERS * n;
      sequencesSquared += SEED_ANSWERS * n * n;
      seconds += SEED_ANSWERS * y;
      sequenceSeconds += SEED_ANSWERS * n * y;
    }
    const slope = (weight * sequenceSeconds - sequences * seconds) / (weight * sequencesSquared - sequences * sequences);
    const perSequenceSeconds = Math.max(0, slope);
    return { perSequenceSeconds, baseSeconds: Math.max(0, (seconds - perSequenceSeconds * sequences) / weight) };
  }

  private decayTo(nowMs: number): void {
    const factor = 2 ** (-Math.max(0, nowMs - this.atMs) / HALF_LIFE_MS);
    this.atMs = Math.max(this.atMs, nowMs);
    if (factor === 1) return;
    this.prefillTokens *= factor;
    this.prefillSeconds *= factor;
    this.weight *= factor;
    this.sequences *= factor;
    this.sequencesSquared *= factor;
    this.seconds *= factor;
    this.sequenceSeconds *= factor;
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
