import type { IncomingRequest, MatchedRequest, ReadRequest } from '../../request';
import type { Reservations } from '../../reservations';
import type { Identity } from '../identity';

/** A request that asks for an endpoint. */
export interface Arrival {
  readonly incoming: Pick<IncomingRequest, 'answer' | 'trace'>;
  readonly request: ReadRequest;
  readonly matched: MatchedRequest;
  readonly identity: Identity;
  readonly reservations: Reservations;
}
