/** Further attempts that a quiet router may make at once. */
const FLOOR = 10;
/** Most further attempts that may be saved up. */
const CAP = 100;

/** Bounds further attempts to a share of requests, so that a failing fleet does not get more load than a healthy one. */
export class RetryBudget {
  private tokens = FLOOR;

  /** @param ratio further attempts per request, 0..1; may be changed at any time. */
  constructor(public ratio: number) {}

  onRequest(): void {
    if (this.tokens < CAP) this.tokens += this.ratio;
  }

  /** @returns whether a further attempt may be made; it is then counted. */
  take(): boolean {
    if (this.tokens < 1 || this.ratio === 0) return false;
    this.tokens -= 1;
    return true;
  }
}
