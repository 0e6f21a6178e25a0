import type { EngineCapacity } from './engine-capacity';

/** After this time without samples a learned rate is half-way back to its seed, so that a slow spell is not for ever. */
const HALF_LIFE_MS = 60_000;
/** How much the seed weighs against samples: prompt tokens for prefill, answers for decode. */
const SEED_TOKENS = 4096;
const SEED_ANSWERS = 4;
/** Loads at which the seed's decode time is believed, as shares of its base: an idle engine, and one whose steps take twice as long. */
const SEED_LOADS = [0, 1] as const;
/** A rate is never believed further than this factor from its seed: one odd sample must not hide or flood an endpoint. */
const MOST_FACTOR = 32;

/** Time of one decode step as a function of the sequences in it and of the tokens that they attend to. */
export interface DecodeRate {
  readonly baseSeconds: number;
  readonly perSequenceSeconds: number;
  readonly perContextTokenSeconds: number;
}

/** What an endpoint decoded at one time. */
export interface DecodeLoad {
  readonly sequences: number;
  /** Tokens that all of them together attend to. */
  readonly contextTokens: number;
}

type Seed = Pick<
  EngineCapacity,
  'prefillTokensPerSecond' | 'decodeBaseSeconds' | 'decodePerSequenceSeconds' | 'decodePerContextTokenSeconds'
>;

/** What one endpoint has shown of its speed. Old samples lose weight; without any the seeds hold. */
export class LearnedRates {
  private atMs = 0;
  private prefillTokens = 0;
  private prefillSeconds = 0;
  // Sums of the weighted least squares of seconds per token over the seconds that the seed has for the load.
  private weight = 0;
  private load = 0;
  private loadSquared = 0;
  private seconds = 0;
  private loadSeconds = 0;

  constructor(private seed: Seed) {}

  setSeed(seed: Seed): void {
    this.seed = seed;
  }

  /** Forgets all samples, as after a restart. */
  reset(): void {
    this.prefillTokens = this.prefillSeconds = 0;
    this.weight = this.load = this.loadSquared = this.seconds = this.loadSeconds = 0;
  }

  /** @param tokens uncached prompt tokens. @param seconds from dispatch to the first token, with nothing queued before it. */
  observePrefill(tokens: number, seconds: number, nowMs: number): void {
    if (!(tokens > 0) || !(seconds > 0) || !Number.isFinite(tokens + seconds)) return;
    this.decayTo(nowMs);
    this.prefillTokens += tokens;
    this.prefillSeconds += seconds;
  }

  /** @param mean what ran there meanwhile, itself included, on average. */
  observeDecode(mean: DecodeLoad, secondsPerToken: number, nowMs: number): void {
    const load =
      this.seed.decodePerSequenceSeconds * mean.sequences + this.seed.decodePerContextTokenSeconds * mean.contextTokens;
    if (!(load >= 0) || !(secondsPerToken > 0) || !Number.isFinite(load + secondsPerToken)) return;
    this.decayTo(nowMs);
    this.weight += 1;
    this.load += load;
    this.loadSquared += load * load;
    this.seconds += secondsPerToken;
    this.loadSeconds += load * secondsPerToken;
  }

  /** Uncached prompt tokens per second, above 0. */
  prefillTokensPerSecond(nowMs: number): number {
    this.decayTo(nowMs);
    const seed = this.seed.prefillTokensPerSecond;
    const learned = (SEED_TOKENS + this.prefillTokens) / (SEED_TOKENS / seed + this.prefillSeconds);
    return clamp(learned, seed / MOST_FACTOR, seed * MOST_FACTOR);
  }

  /** The seed's line with base and slope as they were seen; without samples the seed itself. */
  decode(nowMs: number): DecodeRate {
    this.decayTo(nowMs);
    const { decodeBaseSeconds, decodePerSequenceSeconds, decodePerContextTokenSeconds } = this.seed;
    let { weight, load, loadSquared, seconds, loadSeconds } = this;
    for (const share of SEED_LOADS) {
      const x = share * decodeBaseSeconds;
      const y = decodeBaseSeconds + x;
      weight += SEED_ANSWERS;
      load += SEED_ANSWERS * x;
      loadSquared += SEED_ANSWERS * x * x;
      seconds += SEED_ANSWERS * y;
      loadSeconds += SEED_ANSWERS * x * y;
    }
    const slope = (weight * loadSeconds - load * seconds) / (weight * loadSquared - load * load);
    const factor = Number.isFinite(slope) ? clamp(slope, 0, MOST_FACTOR) : 1;
    return {
      baseSeconds: Math.max(0, (seconds - factor * load) / weight),
      perSequenceSeconds: factor * decodePerSequenceSeconds,
      perContextTokenSeconds: factor * decodePerContextTokenSeconds,
    };
  }

  private decayTo(nowMs: number): void {
    const factor = 2 ** (-Math.max(0, nowMs - this.atMs) / HALF_LIFE_MS);
    this.atMs = Math.max(this.atMs, nowMs);
    if (factor === 1) return;
    this.prefillTokens *= factor;
    this.prefillSeconds *= factor;
    this.weight *= factor;
    this.load *= factor;
    this.loadSquared *= factor;
    this.seconds *= factor;
    this.loadSeconds *= factor;
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** Time of a decode step under a load, in seconds. */
export function decodeStepSeconds(rate: DecodeRate, { sequences, contextTokens }: DecodeLoad): number {
  return rate.baseSeconds + rate.perSequenceSeconds * sequences + rate.perContextTokenSeconds * contextTokens;
}
