import type { LiveEndpoint } from './live-endpoint';
import type { PdPlace } from './pd-place';

/** A pod of one role. */
export interface PdMember {
  readonly live: LiveEndpoint;
  readonly place: PdPlace;
}

/** Pods of a ModelServer that may pair. */
export interface PdPool {
  readonly prefill: readonly PdMember[];
  readonly decode: readonly PdMember[];
}
