import { decodeStepSeconds } from '../../endpoints/learned-rates';
import { contextTokensOf } from '../candidate';
import type { Scorer } from '../scorer';

/**
 * Share of the objective beyond which tokens count as late. A request's mean is over steps that come after this decision, with longer
 * contexts and with prompts between them; on a simulated day of two GPU classes 0.95 and 1 left six and nine times as many late answers as 0.9.
 */
const SAFE_SHARE = 0.9;

/**
 * L: seconds by which tokens of this request, and of those that decode there, are late because it is sent there. Nothing is late within
 * the objective: a slow pod gets the requests that it serves in time, and the next one goes elsewhere.
 *
 * @param itlMs longest mean time between the tokens of an answer, in milliseconds, > 0.
 */
export function lateTokens(itlMs: number): Scorer {
  const allowed = (SAFE_SHARE * itlMs) / 1000;
  return {
    name: 'late-tokens',
    score(request, candidates, out) {
      const ownContext = contextTokensOf(request);
      for (let i = 0; i < candidates.length; i++) {
        const { running, contextTokens, decode } = candidates[i]!;
        const step = decodeStepSeconds(decode, { sequences: running, contextTokens });
        const before = Math.max(0, step - allowed);
        const after = Math.max(0, step + decode.perSequenceSeconds + decode.perContextTokenSeconds * ownContext - allowed);
        out[i] = request.expectedOutputTokens * (after + running * (after - before));
      }
    },
  };
}
