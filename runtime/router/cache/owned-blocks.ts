/** Which endpoints hold the beginning of a prompt, as a store of KV blocks says. */
export interface OwnedBlocks {
  /** Blocks of the prompt that were looked up, ≥ 1. */
  readonly total: number;
  /** Endpoint id → blocks that it holds from the first one on, without a gap; absent where it lacks the first. */
  readonly runs: ReadonlyMap<string, number>;
}
