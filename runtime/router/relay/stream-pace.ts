/** A stream that stays silent for this many of its usual gaps is stalled. */
const GAPS = 50;
/** Weight of the newest gap in the running mean. */
const WEIGHT = 0.1;
/** Gaps after which the mean says something. */
const MIN_GAPS = 16;

/** Learns how long one stream may stay silent from its own gaps, since an engine that dies may leave its streams open for ever. */
export class StreamPace {
  private lastAtMs: number | undefined;
  private meanGapMs = 0;
  private gaps = 0;

  /** @param floorMs shortest limit, since other requests' prefills hold up a stream for seconds. @param capMs longest limit; 0: none. */
  constructor(
    private readonly floorMs: number,
    private readonly capMs: number,
  ) {}

  /** @returns the silence allowed after a chunk that came at `nowMs`; 0: any. */
  idleMsAfterChunk(nowMs: number): number {
    if (this.lastAtMs !== undefined) {
      const gap = nowMs - this.lastAtMs;
      this.meanGapMs = this.gaps === 0 ? gap : this.meanGapMs + WEIGHT * (gap - this.meanGapMs);
      this.gaps += 1;
    }
    this.lastAtMs = nowMs;
    if (this.gaps < MIN_GAPS || this.floorMs === 0) return this.capMs;
    const learned = Math.max(this.floorMs, GAPS * this.meanGapMs);
    return this.capMs === 0 ? learned : Math.min(learned, this.capMs);
  }
}
