import { decodeStepSeconds } from '../../endpoints/learned-rates';
import type { Candidate, ScheduledRequest } from '../candidate';
import type { Scorer } from '../scorer';

/** An adapter that the engine does not list: it answers 404, or fetches it first. An assumption, above any real wait for a slot. */
const UNLISTED_SECONDS = 30;
/** Copying an adapter of some 100 MB into a slot on the GPU, from memory or a warm page cache. An assumption. */
const LOAD_SECONDS = 0.05;
/** Slots where the engine does not say: SGLang's default for `--max-loras-per-batch`. */
const DEFAULT_SLOTS = 8;

/** Seconds until the request's adapter is at hand: in one of the engine's slots, which keep those that were used last. */
export const adapterLoad: Scorer = {
  name: 'adapter-load',
  score(request, candidates, out) {
    const { adapter } = request;
    if (adapter === undefined) {
      out.fill(0, 0, candidates.length);
      return;
    }
    candidates.forEach((candidate, i) => {
      out[i] = loadSeconds(adapter, request, candidate);
    });
  },
};

function loadSeconds(adapter: string, request: ScheduledRequest, candidate: Candidate): number {
  const { models, recentAdapters = [], scraped, running, contextTokens, decode } = candidate;
  if (models !== undefined && !models.has(adapter)) return UNLISTED_SECONDS;
  const slots = Math.max(1, scraped.adapterSlots ?? DEFAULT_SLOTS);
  const inUse = scraped.runningAdapters ?? [];
  const recent = recentAdapters.indexOf(adapter);
  if (inUse.includes(adapter) || (recent !== -1 && recent < slots)) return 0;
  if (inUse.length < slots) return LOAD_SECONDS;
  // Every slot is taken by an adapter that is decoding: one of them must end first.
  const step = decodeStepSeconds(decode, { sequences: Math.max(1, running), contextTokens });
  return LOAD_SECONDS + (request.expectedOutputTokens * step) / slots;
}
