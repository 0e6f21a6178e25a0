import type { Endpoint } from '../endpoints/endpoint';
import type { PdPlace } from '../endpoints/pd-place';
import type { Attempt, AttemptExplanation, AttemptOutcome } from './attempts';
import type { LiveAttempt } from './live-attempt';

/** A dispatch to two pods: one computes the prompt, the other goes on from its KV. Both hold what an attempt holds. */
export class PairAttempt implements Attempt {
  readonly endpoint: Endpoint;
  /** What decode reports as cached is what prefill had. */
  readonly predictedCachedTokens: number;
  readonly expectedTtftMs: number;
  readonly chosenBy = 'pair';
  private sparesDecode = false;

  constructor(
    private readonly prefillLeg: LiveAttempt,
    /** Of prefill. */
    readonly place: PdPlace,
    private readonly decodeLeg: LiveAttempt,
  ) {
    this.endpoint = decodeLeg.endpoint;
    this.predictedCachedTokens = prefillLeg.predictedCachedTokens;
    this.expectedTtftMs = prefillLeg.expectedTtftMs + decodeLeg.expectedTtftMs;
  }

  get prefill(): Endpoint {
    return this.prefillLeg.endpoint;
  }

  explain(): AttemptExplanation {
    const { candidates, removed, scrapeAgeMs } = this.prefillLeg.explain();
    const age = scrapeAgeMs === undefined ? {} : { scrapeAgeMs };
    return { ...this.decodeLeg.explain(), prefill: { candidates, removed, ...age } };
  }

  /** Prefill has computed the prompt; its KV is kept for decode. */
  prefilled(): void {
    this.prefillLeg.firstToken();
  }

  /** Prefill's leg is over. */
  settlePrefill(outcome: AttemptOutcome): void {
    this.prefillLeg.settle(outcome);
  }

  /** Prefill failed: however the attempt ends, decode is not to blame. */
  spareDecode(): void {
    this.sparesDecode = true;
  }

  /** As LiveAttempt: prefill keeps KV that nobody will fetch. */
  keepKv(): () => void {
    return this.prefillLeg.keepKv();
  }

  firstToken(): void {
    this.decodeLeg.firstToken();
  }

  settle(outcome: AttemptOutcome): void {
    this.decodeLeg.settle(this.sparesDecode ? { kind: 'aborted' } : outcome);
    this.prefillLeg.settle({ kind: 'aborted' });
  }
}
