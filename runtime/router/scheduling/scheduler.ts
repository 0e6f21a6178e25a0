import type { Random } from '../../lib/random';
import type { Candidate, ScheduledRequest } from './candidate';
import type { Profile } from './profile';

/** What a term counts that is no finite number: dearer than any real one, and still comparable. */
const WORST_TERM = 1e12;

/** Why a candidate was picked: all that was weighed. */
export interface Decision {
  readonly picked: Candidate;
  readonly candidates: readonly Candidate[];
  /** Term of scorer s for candidate i at `s * candidates.length + i`. */
  readonly terms: Float64Array;
  readonly costs: Float64Array;
  /** Filter name → candidates that it removed. */
  readonly removed: ReadonlyMap<string, readonly Candidate[]>;
}

export type Scheduled =
  | { readonly kind: 'picked'; readonly decision: Decision }
  /** Every candidate was removed; the last filter is the one that left none. */
  | { readonly kind: 'filtered'; readonly filter: string; readonly removed: ReadonlyMap<string, readonly Candidate[]> };

/**
 * filter → score → pick. Every candidate that passes the filters is scored, one that a scorer says nothing about counts with 0, and
 * the cheapest is picked; ties are drawn.
 *
 * @param candidates at least one.
 */
export function schedule(
  profile: Profile,
  request: ScheduledRequest,
  candidates: readonly Candidate[],
  random: Random,
): Scheduled {
  const removed = new Map<string, readonly Candidate[]>();
  let left = candidates;
  for (const filter of profile.filters) {
    const kept = left.filter((candidate) => filter.keeps(request, candidate));
    if (kept.length < left.length) {
      const keptSet = new Set(kept);
      removed.set(filter.name, [...(removed.get(filter.name) ?? []), ...left.filter((candidate) => !keptSet.has(candidate))]);
    }
    if (kept.length === 0) return { kind: 'filtered', filter: filter.name, removed };
    left = kept;
  }
  const { scorers } = profile;
  const count = left.length;
  const terms = new Float64Array(scorers.length * count);
  const costs = new Float64Array(count);
  scorers.forEach(({ scorer, weight }, s) => {
    const out = terms.subarray(s * count, (s + 1) * count);
    scorer.score(request, left, out);
    for (let i = 0; i < count; i++) {
      const term = out[i]! * weight;
      out[i] = Number.isFinite(term) ? term : WORST_TERM;
      costs[i]! += out[i]!;
    }
  });
  let best = 0;
  for (let i = 1; i < count; i++) if (costs[i]! < costs[best]!) best = i;
  const width = profile.tieWidth(scorers.map((_, s) => terms[s * count + best]!));
  const ties: number[] = [];
  for (let i = 0; i < count; i++) if (costs[i]! <= costs[best]! + width) ties.push(i);
  const picked = ties.length === 1 ? best : ties[Math.floor(random.next() * ties.length)]!;
  return { kind: 'picked', decision: { picked: left[picked]!, candidates: left, terms, costs, removed } };
}
