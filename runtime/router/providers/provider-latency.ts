/** Weight of the newest answer in the running mean. */
const NEWEST_WEIGHT = 0.2;
/** What was learned so long ago says nothing of now: a provider that was slow is tried again. Milliseconds. */
const FORGET_AFTER_MS = 60_000;

interface Mean {
  readonly seconds: number;
  readonly atMs: number;
}

/** How long one provider lately took until a client had something of the answer: the first token of a stream, or the whole document. */
export class ProviderLatency {
  private stream: Mean | undefined;
  private document: Mean | undefined;

  /** @param atMs now, as of a monotonic clock. */
  observe(streams: boolean, tookMs: number, atMs: number): void {
    const before = this.meanAt(streams, atMs);
    const seconds = tookMs / 1000;
    const mean = { seconds: before === undefined ? seconds : before + NEWEST_WEIGHT * (seconds - before), atMs };
    if (streams) this.stream = mean;
    else this.document = mean;
  }

  /** In seconds; undefined while nothing is known, and when it is too long ago. */
  meanAt(streams: boolean, atMs: number): number | undefined {
    const mean = streams ? this.stream : this.document;
    return mean === undefined || atMs - mean.atMs > FORGET_AFTER_MS ? undefined : mean.seconds;
  }
}
