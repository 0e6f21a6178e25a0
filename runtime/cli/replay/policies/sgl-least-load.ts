import type { Profile } from '../../../router/scheduling/profile';
import { rival } from './rival';
import { RIVAL_PARAMETERS } from './rival-parameters';

/** smg's `least_load`: seconds of tokens queued there and of the whole prompt, and KV pressure; it knows no caches. */
export function sglLeastLoad(): Profile {
  const { pressureSeconds, tokensPerSecond } = RIVAL_PARAMETERS.sglLeastLoad;
  return rival('sgl-least-load', ({ request, candidates }, out) => {
    candidates.forEach(({ queuedTokens, kvUsage }, i) => {
      const usage = Math.min(0.99, kvUsage);
      out[i] = (queuedTokens + request.promptTokens) / tokensPerSecond + (pressureSeconds * usage) / (1 - usage);
    });
  });
}
