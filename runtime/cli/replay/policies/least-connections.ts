import type { Profile } from '../../../router/scheduling/profile';
import { rival } from './rival';

/** Fewest requests in flight from this router: `leastconn` of HAProxy, `least_conn` of nginx. */
export function leastConnections(): Profile {
  return rival('least-connections', ({ candidates }, out) => {
    candidates.forEach(({ onFlight }, i) => {
      out[i] = onFlight;
    });
  });
}
