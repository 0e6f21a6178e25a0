/** KV blocks of a finished request that stay allocated for somebody who reads them. */
export interface RetainedBlocks {
  /** In order of position, each counted from 0. */
  readonly blocks: readonly number[];
  /** Tokens whose KV they hold. */
  readonly tokens: number;
  /** Gives them back; further calls do nothing. */
  release(): void;
}
