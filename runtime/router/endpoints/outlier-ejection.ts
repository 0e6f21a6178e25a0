/** Failures in a row after which an endpoint is suspected: Envoy's default for consecutive 5xx. */
const FAILURES_TO_EJECT = 5;
/** First ejection, doubled by each further one: Envoy's defaults for base and longest ejection time. */
const BASE_EJECTION_MS = 30_000;
const MAX_EJECTION_MS = 300_000;
/** How long an endpoint is left alone that says it is busy, doubled each time it says so again with no success between. */
const BASE_BUSY_MS = 250;
const MAX_BUSY_MS = 4_000;
/** Longest that an endpoint is left alone because it asks for it; one that asks for more would be as good as ejected. */
const MAX_ASKED_MS = 30_000;

type State =
  | { readonly kind: 'closed' }
  | { readonly kind: 'ejected'; readonly sinceMs: number; readonly untilMs: number }
  | { readonly kind: 'half-open'; readonly sinceMs: number; readonly untilMs: number };

/**
 * Whether one endpoint is left out for having failed, judged from the requests it was given. After its ejection one request at a
 * time probes it; a success takes it back, a failure ejects it for twice as long.
 */
export class OutlierEjection {
  private failures = 0;
  private ejections = 0;
  private state: State = { kind: 'closed' };
  private refusals = 0;
  private busySinceMs = 0;
  private busyUntilMs = Number.NEGATIVE_INFINITY;

  /** Moment of the ejection that is still in force; undefined when the endpoint may be used. */
  ejectedSinceMs(nowMs: number): number | undefined {
    if (this.state.kind === 'closed') return undefined;
    // A probe that never ends must not keep the endpoint out for ever: after one more ejection time the next probe may go.
    return nowMs < this.state.untilMs ? this.state.sinceMs : undefined;
  }

  /**
   * Moment since when the endpoint is left out, for having failed or for saying that it is busy; undefined when it may be used. One that
   * refuses at once is always the least loaded, and without this it would draw every request of the pool.
   */
  leftOutSinceMs(nowMs: number): number | undefined {
    return this.ejectedSinceMs(nowMs) ?? (nowMs < this.busyUntilMs ? this.busySinceMs : undefined);
  }

  /** The endpoint works and takes no more now: 429 or 503. @param askedMs how long it asks to be left alone, of which 30 s count. */
  busy(nowMs: number, askedMs = 0): void {
    this.inconclusive(nowMs);
    const askedUntilMs = nowMs + Math.min(MAX_ASKED_MS, askedMs);
    if (nowMs < this.busyUntilMs) {
      // Answers to requests from before say the same thing once more, or ask for longer.
      this.busyUntilMs = Math.max(this.busyUntilMs, askedUntilMs);
      return;
    }
    this.busySinceMs = nowMs;
    this.busyUntilMs = Math.max(askedUntilMs, nowMs + Math.min(MAX_BUSY_MS, BASE_BUSY_MS * 2 ** this.refusals));
    this.refusals = Math.min(this.refusals + 1, 10);
  }

  /** A request is sent to the endpoint; after an ejection it is the probe. */
  dispatched(nowMs: number): void {
    if (this.state.kind === 'closed' || nowMs < this.state.untilMs) return;
    this.state = { kind: 'half-open', sinceMs: this.state.sinceMs, untilMs: nowMs + this.ejectionMs() };
  }

  succeeded(): void {
    this.failures = 0;
    this.refusals = 0;
    // A request sent before the ejection may still succeed during it; only a probe's success counts.
    if (this.state.kind !== 'half-open') return;
    this.ejections = 0;
    this.state = { kind: 'closed' };
  }

  /** A probe that ended without a verdict, such as one whose client left: the next request probes again. */
  inconclusive(nowMs: number): void {
    if (this.state.kind === 'half-open') this.state = { ...this.state, untilMs: nowMs };
  }

  failed(nowMs: number): void {
    this.failures += 1;
    const isProbe = this.state.kind === 'half-open';
    if (!isProbe && (this.state.kind === 'ejected' || this.failures < FAILURES_TO_EJECT)) return;
    this.ejections += 1;
    this.state = { kind: 'ejected', sinceMs: nowMs, untilMs: nowMs + this.ejectionMs() };
  }

  private ejectionMs(): number {
    return Math.min(MAX_EJECTION_MS, BASE_EJECTION_MS * 2 ** Math.max(0, this.ejections - 1));
  }
}

/**
 * Which members of a pool stay out: those ejected, oldest ejection first, then those that are busy, up to half of the pool, so that a
 * fault common to all (a bad client, a lost network) cannot empty it.
 */
export function ejectedMembers<T extends { readonly outlier: OutlierEjection }>(
  pool: readonly T[],
  nowMs: number,
): ReadonlySet<T> {
  const leftOut = pool
    .map((member) => ({
      member,
      isEjected: member.outlier.ejectedSinceMs(nowMs) !== undefined,
      sinceMs: member.outlier.leftOutSinceMs(nowMs),
    }))
    .filter((each): each is { member: T; isEjected: boolean; sinceMs: number } => each.sinceMs !== undefined)
    .sort((a, b) => Number(b.isEjected) - Number(a.isEjected) || a.sinceMs - b.sinceMs);
  return new Set(leftOut.slice(0, Math.floor(pool.length / 2)).map(({ member }) => member));
}
