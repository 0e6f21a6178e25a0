import type { Footprint } from './footprint';
import { type Limit, shareOf, shareOfReplica } from './limit';

/** A unit that wants to have replicas. */
export interface Claim {
  /** Replicas asked for that have no pods yet. */
  readonly pending: number;
  /** Replicas asked for. */
  readonly current: number;
  readonly desired: number;
  readonly min: number;
  /** The greater goes first. */
  readonly priority: number;
  /** Pods of one replica. */
  readonly footprints: readonly Footprint[];
}

/** What a claim got. */
export interface Grant {
  readonly replicas: number;
  /** What stood against more, with a name, when it got less than it desired. */
  readonly cut?: { readonly limit: string; readonly why: 'full' | 'unreadable' | 'unpriced' };
}

/**
 * Shares what limits leave among claims that want to grow, one replica at a time: greater priority first, then who is below its minimum, then
 * who lacks the greater share of what it wants per unit of cost, then the order given. Who shrinks gives nothing back before its pods are gone.
 *
 * @param pods all that exist, whoever they belong to: pending ones and those of a rollout's surge too.
 */
export function shareOut(claims: readonly Claim[], limits: readonly Limit[], pods: readonly Footprint[]): readonly Grant[] {
  const room = limits.map((limit) => {
    if (limit.most === undefined) return Number.NEGATIVE_INFINITY;
    const counted =
      claims.reduce((sum, { pending, footprints }) => sum + pending * (shareOfReplica(limit, footprints) ?? 0), 0) +
      pods.reduce((sum, footprint) => sum + (shareOf(limit, footprint) ?? 0), 0);
    return limit.most - Math.max(counted, limit.used ?? 0);
  });
  const open = claims.map((claim) => ({
    ...claim,
    granted: Math.min(claim.current, claim.desired),
    cut: undefined as Grant['cut'],
  }));
  const wanting = open.filter(({ desired, current }) => desired > current);
  while (wanting.length > 0) {
    wanting.sort(byUrgency);
    const next = wanting[0]!;
    const cut = objectionTo(next, limits, room);
    if (cut !== undefined) {
      next.cut = cut;
      wanting.shift();
      continue;
    }
    for (const [i, limit] of limits.entries()) room[i] = room[i]! - (shareOfReplica(limit, next.footprints) ?? 0);
    next.granted += 1;
    if (next.granted >= next.desired) wanting.shift();
  }
  return open.map(({ granted, desired, current, cut }) => ({
    replicas: desired > current ? granted : desired,
    ...(cut && { cut }),
  }));
}

type Open = Claim & { readonly granted: number };

function objectionTo(claim: Open, limits: readonly Limit[], room: readonly number[]): Grant['cut'] {
  for (const [i, limit] of limits.entries()) {
    const share = shareOfReplica(limit, claim.footprints);
    if (share === 0) continue;
    if (limit.most === undefined) return { limit: limit.name, why: 'unreadable' };
    if (share === undefined) return { limit: limit.name, why: 'unpriced' };
    if (share > room[i]! + ROUNDING) return { limit: limit.name, why: 'full' };
  }
  return undefined;
}

/** Prices are decimals. */
const ROUNDING = 1e-9;

function byUrgency(a: Open, b: Open): number {
  return b.priority - a.priority || Number(b.granted < b.min) - Number(a.granted < a.min) || benefitOf(b) - benefitOf(a);
}

/** Share of what is wanted that one more replica brings nearer, per unit of its cost. */
function benefitOf({ desired, granted, footprints }: Open): number {
  const cost = footprints.reduce((sum, { costPerHour, gpus }) => sum + (costPerHour ?? gpus), 0);
  return (desired - granted) / desired / Math.max(cost, 1e-3);
}
