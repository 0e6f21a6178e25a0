import type { PlaceRecord } from './place-record';

/** A request that a router sent to a pod. */
export interface DispatchRecord {
  readonly kind: 'dispatch';
  /** Number of the dispatch, the sender's own. */
  readonly id: number;
  /** As an `endpoint` record named it. */
  readonly endpoint: number;
  readonly uncachedTokens: number;
  readonly kvTokens: number;
  readonly contextTokens: number;
  readonly adapter?: string;
  /** Hashes of the prompt's blocks, two words each. */
  readonly words: Uint32Array;
}

/** What one router replica tells the others. */
export type ReplicationRecord =
  /** Which pod a number stands for from here on. */
  | { readonly kind: 'endpoint'; readonly number: number; readonly id: string }
  | DispatchRecord
  /** Its first token came. */
  | { readonly kind: 'prefilled'; readonly id: number }
  /** It is over. `isKept`: the engine has computed the prompt. */
  | { readonly kind: 'ended'; readonly id: number; readonly isKept: boolean }
  /** Blocks that a pod's cache is believed to hold, most recently used first. */
  | { readonly kind: 'held'; readonly endpoint: number; readonly blockBytes: number; readonly words: Uint32Array }
  | PlaceRecord
  /** The sender takes no new requests and ends those that it has. */
  | { readonly kind: 'leaving' }
  /** The sender is gone. */
  | { readonly kind: 'left' };
