import type { Endpoint } from '../../endpoints/endpoint';
import type { BlockHashes } from '../block-hashes';

/** A dispatch as other routers count it. */
export interface SharedFacts {
  readonly endpoint: Pick<Endpoint, 'id' | 'slot' | 'pod'>;
  readonly uncachedTokens: number;
  readonly kvTokens: number;
  readonly contextTokens: number;
  readonly adapter: string | undefined;
  readonly hashes: BlockHashes;
}

/** One dispatch that others were told of. */
export interface SharedDispatch {
  /** Its first token came. */
  prefilled(): void;
  /** It is over, however it ended; later calls do nothing. @param isKept whether the engine computed the prompt. */
  ended(isKept: boolean): void;
}

/** Tells others of this router's dispatches. Nothing is waited for. */
export interface DispatchSharing {
  dispatched(facts: SharedFacts): SharedDispatch;
}
