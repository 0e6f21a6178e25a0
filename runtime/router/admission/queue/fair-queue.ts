/** What the order of waiting requests goes by. */
export interface Waiter {
  /** What it waits for: waiters of one lane can go at the same moments. */
  readonly lane: string;
  /** Rank of its class; 0 goes first. */
  readonly rank: number;
  /** Whom it is counted for; all of one user where users are not told apart. */
  readonly user: string;
  /** Account of what its user used, of those that wait for the same. */
  readonly account: string;
  /** Place in the order of arrival, each once. */
  readonly order: number;
  /** When its session last had an answer; undefined where that does not matter, or there was none. */
  readonly boostedAtMs: number | undefined;
  readonly bytes: number;
  /** Prompt tokens. */
  readonly tokens: number;
}

/** How much waits. */
export interface Amount {
  readonly requests: number;
  readonly tokens: number;
}

/**
 * Waiting requests, in order: by class; then the user that used least; then the session that had an answer last; then as they came. Of one
 * user and session none overtakes another. What users used is asked for when somebody may go, so that the order is never stale.
 */
export class FairQueue<W extends Waiter> {
  private readonly lanes = new Map<string, Map<number, ClassLine<W>>>();
  private readonly classes = new Map<number, Map<string, Set<W>>>();
  private count = 0;
  private held = 0;

  /** @param usageOf what the user of an account used lately. */
  constructor(private readonly usageOf: (account: string) => number) {}

  get size(): number {
    return this.count;
  }

  get bytes(): number {
    return this.held;
  }

  add(waiter: W): void {
    const { lane, rank, user } = waiter;
    const lines = this.lanes.get(lane) ?? new Map<number, ClassLine<W>>();
    this.lanes.set(lane, lines);
    const line = lines.get(rank) ?? new ClassLine<W>();
    lines.set(rank, line);
    line.add(waiter);
    const users = this.classes.get(rank) ?? new Map<string, Set<W>>();
    this.classes.set(rank, users);
    users.set(user, (users.get(user) ?? new Set()).add(waiter));
    this.count += 1;
    this.held += waiter.bytes;
  }

  /** @returns whether it was there. */
  remove(waiter: W): boolean {
    const { lane, rank, user } = waiter;
    const users = this.classes.get(rank);
    const own = users?.get(user);
    if (users === undefined || own === undefined || !own.delete(waiter)) return false;
    if (own.size === 0) users.delete(user);
    if (users.size === 0) this.classes.delete(rank);
    const lines = this.lanes.get(lane)!;
    const line = lines.get(rank)!;
    line.remove(waiter);
    if (line.requests === 0) lines.delete(rank);
    if (lines.size === 0) this.lanes.delete(lane);
    this.count -= 1;
    this.held -= waiter.bytes;
    return true;
  }

  /** Who goes next among the lanes that are open; undefined when nobody can. */
  first(isOpen: (lane: string) => boolean): W | undefined {
    let best: W | undefined;
    let bestUsage = 0;
    for (const [lane, lines] of this.lanes) {
      const rank = Math.min(...lines.keys());
      if ((best !== undefined && rank > best.rank) || !isOpen(lane)) continue;
      for (const head of lines.get(rank)!.heads()) {
        const usage = this.usageOf(head.account);
        if (best !== undefined && !goesBefore(head, usage, best, bestUsage)) continue;
        best = head;
        bestUsage = usage;
      }
    }
    return best;
  }

  /** What waits in a lane in front of a newcomer of a class, as if users did not matter. */
  ahead(lane: string, rank: number): Amount {
    let requests = 0;
    let tokens = 0;
    for (const [other, line] of this.lanes.get(lane) ?? []) {
      if (other > rank) continue;
      requests += line.requests;
      tokens += line.tokens;
    }
    return { requests, tokens };
  }

  /**
   * Who gives way to a newcomer when nobody else fits in: the youngest of the user that has most waiting in the last class. Undefined when
   * the newcomer itself is that one: nobody of a class before its own gives way, and in its own class only a user that would still have
   * more.
   */
  givesWay(rank: number, user: string): W | undefined {
    const last = Math.max(...this.classes.keys());
    const users = this.classes.get(last);
    if (users === undefined || last < rank) return undefined;
    let most: ReadonlySet<W> | undefined;
    for (const own of users.values()) if (most === undefined || own.size > most.size) most = own;
    if (last === rank && most!.size <= (users.get(user)?.size ?? 0) + 1) return undefined;
    let youngest: W | undefined;
    for (const waiter of most!) youngest = waiter;
    return youngest;
  }

  /** Everybody, in the order of arrival of each class and user. */
  *all(): Generator<W> {
    for (const users of this.classes.values()) for (const own of users.values()) yield* own;
  }
}

function goesBefore(a: Waiter, usageOfA: number, b: Waiter, usageOfB: number): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank;
  if (usageOfA !== usageOfB) return usageOfA < usageOfB;
  const boostOfA = a.boostedAtMs ?? Number.NEGATIVE_INFINITY;
  const boostOfB = b.boostedAtMs ?? Number.NEGATIVE_INFINITY;
  return boostOfA === boostOfB ? a.order < b.order : boostOfA > boostOfB;
}

/** Those of one class in one lane, by user. */
class ClassLine<W extends Waiter> {
  requests = 0;
  tokens = 0;
  private readonly byUser = new Map<string, UserLine<W>>();

  add(waiter: W): void {
    const line = this.byUser.get(waiter.user) ?? { plain: new Set(), boosted: [] };
    this.byUser.set(waiter.user, line);
    if (waiter.boostedAtMs === undefined) line.plain.add(waiter);
    else {
      const at = line.boosted.findIndex((other) => goesBefore(waiter, 0, other, 0));
      line.boosted.splice(at < 0 ? line.boosted.length : at, 0, waiter);
    }
    this.requests += 1;
    this.tokens += waiter.tokens;
  }

  remove(waiter: W): void {
    const line = this.byUser.get(waiter.user)!;
    if (!line.plain.delete(waiter)) line.boosted.splice(line.boosted.indexOf(waiter), 1);
    if (line.plain.size + line.boosted.length === 0) this.byUser.delete(waiter.user);
    this.requests -= 1;
    this.tokens = this.requests === 0 ? 0 : this.tokens - waiter.tokens;
  }

  /** The first of each user. */
  *heads(): Generator<W> {
    for (const { plain, boosted } of this.byUser.values()) {
      const head = boosted[0] ?? plain.values().next().value;
      if (head !== undefined) yield head;
    }
  }
}

interface UserLine<W> {
  readonly plain: Set<W>;
  /** In their order. */
  readonly boosted: W[];
}
