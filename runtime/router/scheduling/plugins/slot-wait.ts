import { decodeStepSeconds } from '../../endpoints/learned-rates';
import type { Candidate, ScheduledRequest } from '../candidate';
import type { Scorer } from '../scorer';

/** Seconds until a full engine has a free sequence slot for one more request; 0 while it has one. */
export function slotWaitSeconds(request: ScheduledRequest, { running, contextTokens, maxNumSeqs, decode }: Candidate): number {
  if (running < maxNumSeqs) return 0;
  const full = { sequences: maxNumSeqs, contextTokens: (contextTokens / running) * maxNumSeqs };
  const secondsPerRequest = request.expectedOutputTokens * decodeStepSeconds(decode, full);
  // maxNumSeqs requests of that length end one after the other, evenly spread.
  return ((running - maxNumSeqs + 1) * secondsPerRequest) / maxNumSeqs;
}

/** Waiting for one of `max_num_seqs` slots. */
export const slotWait: Scorer = {
  name: 'slot-wait',
  score(request, candidates, out) {
    candidates.forEach((candidate, i) => {
      out[i] = slotWaitSeconds(request, candidate);
    });
  },
};
