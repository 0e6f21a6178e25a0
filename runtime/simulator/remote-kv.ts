/** How a fetch of remote KV ended; `missing` has the tokens computed here instead. */
export type FetchResult = 'arrived' | 'failed' | 'missing';

/** KV of a prompt that lies outside of the engine: in another engine, or in a store. */
export interface RemoteKv {
  /**
   * How many tokens of the prompt's beginning have KV there. Nothing is fetched when they are no more than those cached here.
   *
   * @param localTokens tokens of the prompt's beginning that are cached here.
   */
  tokens(localTokens: number): number;
  /**
   * Fetches what is not cached here; blocks for it are taken. The last token of a prompt is computed here even when its KV arrives.
   *
   * @param fetchedTokens tokens to fetch, ≥ 1.
   * @param done called once, at once or later; not after `cancel`.
   */
  fetch(fetchedTokens: number, done: (result: FetchResult) => void): void;
  /** The request ended before its KV arrived. */
  cancel(): void;
}
