import type { Random } from '../../lib/random';
import type { ChosenBy } from './attempts';
import type { Candidate, ScheduledRequest } from './candidate';
import { isOverloaded } from './overload';
import type { Profile } from './profile';

/** What a term counts that is no finite number: dearer than any real one, and still comparable. */
const WORST_TERM = 1e12;

const NOBODY_REMOVED: ReadonlyMap<string, readonly Candidate[]> = new Map();

/** What scorers write into; its numbers are copied before the next one scores. */
let scratch = new Float64Array(64);

/** Why a candidate was picked: all that was weighed. */
export interface Decision {
  /** What weighed it. */
  readonly profile: Profile;
  readonly picked: Candidate;
  readonly by: Exclude<ChosenBy, 'pair'>;
  readonly candidates: readonly Candidate[];
  /** Term of scorer s for candidate i at `s * candidates.length + i`. */
  readonly terms: readonly number[];
  readonly costs: readonly number[];
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
  let removed: Map<string, readonly Candidate[]> | undefined;
  let left = candidates;
  for (const filter of profile.filters) {
    const kept = left.filter((candidate) => filter.keeps(request, candidate));
    if (kept.length < left.length) {
      const keptSet = new Set(kept);
      removed ??= new Map();
      removed.set(filter.name, [...(removed.get(filter.name) ?? []), ...left.filter((candidate) => !keptSet.has(candidate))]);
    }
    if (kept.length === 0) return { kind: 'filtered', filter: filter.name, removed: removed ?? NOBODY_REMOVED };
    left = kept;
  }
  const { scorers } = profile;
  const count = left.length;
  if (scratch.length < count) scratch = new Float64Array(2 * count);
  const terms: number[] = [];
  const costs: number[] = [];
  for (const { scorer, weight } of scorers) {
    scratch.fill(0, 0, count);
    scorer.score(request, left, scratch);
    for (let i = 0; i < count; i++) {
      const weighted = scratch[i]! * weight;
      const term = Number.isFinite(weighted) ? weighted : WORST_TERM;
      terms.push(term);
      costs[i] = (costs[i] ?? 0) + term;
    }
  }
  if (scorers.length === 0) for (let i = 0; i < count; i++) costs.push(0);
  let best = 0;
  for (let i = 1; i < count; i++) if (costs[i]! < costs[best]!) best = i;
  const width = profile.tieWidth(scorers.map((_, s) => terms[s * count + best]!));
  const kept = request.preferred === undefined ? -1 : sessionEndpoint(left, request.preferred);
  const ties: number[] = [];
  for (let i = 0; i < count; i++) if (costs[i]! <= costs[best]! + width) ties.push(i);
  const picked = kept !== -1 ? kept : ties.length === 1 ? best : ties[Math.floor(random.next() * ties.length)]!;
  const by = count === 1 ? 'sole' : kept !== -1 ? 'session' : ties.length === 1 ? 'cost' : 'tie';
  return {
    kind: 'picked',
    decision: { profile, picked: left[picked]!, by, candidates: left, terms, costs, removed: removed ?? NOBODY_REMOVED },
  };
}

/** Index of the endpoint that the session is bound to, while it has room; −1 otherwise. */
function sessionEndpoint(candidates: readonly Candidate[], preferred: string): number {
  return candidates.findIndex((candidate) => candidate.endpoint.id === preferred && !isOverloaded(candidate));
}
