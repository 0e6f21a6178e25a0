/** What became of the KV that an engine kept for others. Counters only grow. */
export interface HandOffStats {
  /** Hand-offs whose blocks are kept now. */
  readonly held: number;
  readonly offered: number;
  /** Read by decode. */
  readonly taken: number;
  /** Given back only because their lease ended: whoever asked for them left them behind. */
  readonly expired: number;
  /** Blocks of `expired` ones, which nobody could use for the length of a lease. */
  readonly leakedBlocks: number;
  /** Reads of blocks that were no longer kept. */
  readonly lateReads: number;
}

export const NO_HAND_OFFS: HandOffStats = { held: 0, offered: 0, taken: 0, expired: 0, leakedBlocks: 0, lateReads: 0 };

export function addHandOffs(a: HandOffStats, b: HandOffStats): HandOffStats {
  return {
    held: a.held + b.held,
    offered: a.offered + b.offered,
    taken: a.taken + b.taken,
    expired: a.expired + b.expired,
    leakedBlocks: a.leakedBlocks + b.leakedBlocks,
    lateReads: a.lateReads + b.lateReads,
  };
}
