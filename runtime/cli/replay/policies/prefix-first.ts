import type { Profile } from '../../../router/scheduling/profile';
import { rival } from './rival';

/** The longest cached prefix wins, whatever the load; drawn among equals, as `prefixaware` of the vLLM production stack does. */
export function prefixFirst(): Profile {
  return rival('prefix-first', ({ candidates }, out) => {
    candidates.forEach(({ cachedTokens }, i) => {
      out[i] = -cachedTokens;
    });
  });
}
