import type { Profile } from '../../../router/scheduling/profile';
import { rival } from './rival';
import { RIVAL_PARAMETERS } from './rival-parameters';

/** smg's `cache_aware`: the fewest requests while the fleet is imbalanced or the best match is short, else the best match. */
export function sglThresholds(): Profile {
  const { cacheThreshold, balanceAbsoluteRequests, balanceRelative } = RIVAL_PARAMETERS.sglThresholds;
  return rival('sgl-thresholds', ({ request, candidates }, out) => {
    let least = Number.POSITIVE_INFINITY;
    let most = 0;
    let longest = 0;
    for (const { onFlight, cachedTokens } of candidates) {
      least = Math.min(least, onFlight);
      most = Math.max(most, onFlight);
      longest = Math.max(longest, cachedTokens);
    }
    const isImbalanced = most - least > balanceAbsoluteRequests && most > balanceRelative * least;
    const followsCache = !isImbalanced && longest / request.promptTokens > cacheThreshold;
    candidates.forEach(({ onFlight, cachedTokens }, i) => {
      out[i] = followsCache ? -cachedTokens : onFlight;
    });
  });
}
