import { lru } from '../../lib/lru';

interface Chain {
  /** resourceVersions of copies that were written over, the latest last. */
  readonly over: readonly (string | undefined)[];
  /** What the last write made. */
  readonly last: string;
}

/** More objects than one process writes to. */
const CAPACITY = 10_000;
/** A cache that is further behind has lost its watch. */
const LONGEST_CHAIN = 16;

/**
 * The last writes of this process to each object. Its cache may not show them yet: a second write over the same copy must not meet the
 * first as if it were a stranger's. A stranger's write breaks the chain, since ours meets a conflict then.
 */
export class OwnWrites {
  private readonly chains = lru<string, Chain>(CAPACITY);

  /** The version that the object has if nobody else wrote since this process saw `seen`. */
  current(uid: string, seen: string | undefined): string | undefined {
    return this.chains.get(uid)?.over.includes(seen) === true ? this.chains.get(uid)!.last : seen;
  }

  note(uid: string, seen: string | undefined, version: string): void {
    const chain = this.chains.get(uid);
    const goesOn = chain !== undefined && (chain.last === seen || chain.over.includes(seen));
    const over = goesOn ? [...chain.over, chain.last] : [seen];
    this.chains.set(uid, { over: over.filter((each) => each !== version).slice(-LONGEST_CHAIN), last: version });
  }
}
