import type { Candidate } from './candidate';

/** A KV cache this full makes requests wait, or preempts others. */
const FULL_KV = 0.98;

/** Whether a request would wait there for a sequence slot or for KV blocks, so that a session had better move. */
export function isOverloaded({ running, maxNumSeqs, kvUsage }: Candidate): boolean {
  return running >= maxNumSeqs || kvUsage >= FULL_KV;
}
