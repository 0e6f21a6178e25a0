/** How far a download is, in lines for people. */
export class Progress {
  private there = 0;
  private readonly startedMs: number;
  private recent: { readonly atMs: number; readonly there: number }[] = [];
  /** Bytes that came over the network. */
  received = 0;

  /** @param total bytes of all files together. @param write gets one line. */
  constructor(
    private readonly total: number,
    private readonly write: (line: string) => void,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.startedMs = nowMs();
  }

  /** Bytes that were there before. */
  found(bytes: number): void {
    this.there += bytes;
  }

  fetched(bytes: number): void {
    this.there += bytes;
    this.received += bytes;
  }

  /** Bytes that turned out to be wrong. */
  lost(bytes: number): void {
    this.there -= bytes;
  }

  /** Says how far it is, how fast it has become in the last minute, and how long it will take. */
  tell(): void {
    const atMs = this.nowMs();
    this.recent = [...this.recent.filter((each) => atMs - each.atMs <= 60_000), { atMs, there: this.there }];
    const [first] = this.recent;
    const since = first!.atMs === atMs ? { atMs: this.startedMs, there: this.there - this.received } : first!;
    const rate = atMs > since.atMs ? (1000 * Math.max(0, this.there - since.there)) / (atMs - since.atMs) : 0;
    const left = this.total - this.there;
    const eta = rate > 0 ? `, ${durationText(left / rate)} left` : '';
    this.write(`${sizeText(this.there)} of ${sizeText(this.total)}, ${sizeText(rate)}/s${eta}`);
  }

  /** Says what it came to. */
  end(files: number): void {
    const seconds = (this.nowMs() - this.startedMs) / 1000;
    const rate = seconds > 0 ? this.received / seconds : 0;
    this.write(
      `${files === 1 ? '1 file' : `${files} files`}, ${sizeText(this.total)}; ${sizeText(this.received)} fetched in ${durationText(seconds)} (${sizeText(rate)}/s)`,
    );
  }
}

export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.5 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

export function durationText(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5_400) return `${Math.ceil(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
