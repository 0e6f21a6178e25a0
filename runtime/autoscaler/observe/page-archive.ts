import type { MetricsPage } from './metrics-page';

/** A page and when it was read, in monotonic time. */
export interface Snapshot {
  readonly atMs: number;
  readonly page: MetricsPage;
}

/** Snapshots of one page to compare the present one with. */
export interface Past {
  /** The newest that is at least one window old. */
  readonly windowAgo?: Snapshot;
  /** The oldest that is kept. */
  readonly oldest?: Snapshot;
  /** The newest that is kept: that of the last round. */
  readonly last?: Snapshot;
}

interface Entry {
  /** Which start of which pod the snapshots belong to; counters of another start are not comparable. */
  readonly incarnation: string;
  readonly snapshots: Snapshot[];
}

/** How many windows back snapshots are kept, as in Kthena (300 s of 60 s windows). */
const KEPT_WINDOWS = 5;

/** Earlier readings of each pod's pages, in memory only. */
export class PageArchive {
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly windowMs: number) {}

  /** Files `snapshot` under `key` and tells what came before it. */
  file(key: string, incarnation: string, snapshot: Snapshot): Past {
    const known = this.entries.get(key);
    if (known === undefined || known.incarnation !== incarnation) {
      this.entries.set(key, { incarnation, snapshots: [snapshot] });
      return {};
    }
    const { snapshots } = known;
    while (snapshots.length > 0 && snapshot.atMs - snapshots[0]!.atMs > KEPT_WINDOWS * this.windowMs) snapshots.shift();
    const before = snapshots.findLastIndex((earlier) => snapshot.atMs - earlier.atMs >= this.windowMs);
    // Those before it are never compared with again: the next newest is this one or a later one.
    if (before > 0) snapshots.splice(0, before);
    const windowAgo = before < 0 ? undefined : snapshots[0];
    const [oldest] = snapshots;
    const last = snapshots.at(-1);
    snapshots.push(snapshot);
    return {
      ...(windowAgo !== undefined && { windowAgo }),
      ...(oldest !== undefined && { oldest }),
      ...(last !== undefined && { last }),
    };
  }

  /** Drops every key that `isWanted` does not know any more. */
  keepOnly(isWanted: (key: string) => boolean): void {
    for (const key of this.entries.keys()) if (!isWanted(key)) this.entries.delete(key);
  }
}
