import type { LiveEndpoint } from '../endpoints/live-endpoint';
import type { PdMember, PdPool } from '../endpoints/pd-pool';
import type { AttemptContext } from './attempt-context';
import type { Attempt, Attempts, NextAttempt, PairExplanation, SchedulingRequest } from './attempts';
import type { ScheduledRequest } from './candidate';
import { candidateOf } from './candidate-view';
import { type AttemptInput, LiveAttempt } from './live-attempt';
import { EXPLORATION_RATIO, narrow, outputKey, profileFor, scheduledRequest } from './live-attempts';
import { measuredSchedule, modelLabel } from './measured-schedule';
import { PairAttempt } from './pair-attempt';
import { type PairClass, type PairSide, pairClasses } from './pair-classes';
import type { Profile } from './profile';
import type { Decision } from './scheduler';

/** Bytes per second between pods: a 200 Gb/s card for each engine, as the simulator assumes. */
const LINK_BYTES_PER_SECOND = 25e9;
/** What one more request and its hand-shake take beside the transfer. An assumption: a round trip or two in a cluster. */
const HAND_OFF_SECONDS = 0.002;

const NOBODY: readonly PdMember[] = [];

/** Pods that a request has tried. */
export interface TriedPods {
  /** Not to be used again. */
  readonly excluded: ReadonlySet<string>;
  /** To be used again only where there is nobody else. */
  readonly doubted: ReadonlySet<string>;
}

/** Whether decode may compute a prompt itself. */
export interface WholePolicy {
  readonly isPossible: boolean;
  /** A decode pod that lacks fewer tokens than this is weighed beside pairs; where there is no pair that does not matter. */
  readonly wholeBelowTokens: number;
}

export type NextPair =
  | { readonly kind: 'pair'; readonly attempt: PairAttempt }
  /** One pod does all of it. `isForced`: there was no pair. */
  | { readonly kind: 'whole'; readonly attempt: Attempt; readonly isForced: boolean }
  | Extract<NextAttempt, { kind: 'none' }>;

interface Option {
  readonly cost: number;
  readonly explanation: PairExplanation;
  /** Width of a tie, where this one is the best. */
  readonly tieWidth: number;
  make(pairs: readonly PairExplanation[]): Extract<NextPair, { kind: 'pair' | 'whole' }>;
}

/**
 * Pairs over the live view of pods: filter and score per role, pick the cheapest pair within a group and revision, its legs' costs added
 * up with the time between them, and weigh decode alone beside it.
 */
export class LivePairs {
  private readonly legs = new WeakMap<Profile, Legs>();

  /** @param whole attempts at decode pods alone. */
  constructor(
    private readonly context: AttemptContext,
    private readonly whole: Attempts,
  ) {}

  next(request: SchedulingRequest, { excluded, doubted }: TriedPods, policy: WholePolicy): NextPair {
    const { clock, random, registry, outputs, hasher } = this.context;
    const nowMs = clock.monotonic();
    const pool = registry.pdPool(request.modelServer);
    const decode = eligible(request, pool?.decode ?? NOBODY, excluded, nowMs);
    const prefill = eligible(request, pool?.prefill ?? NOBODY, excluded, nowMs);
    if (decode.members.length === 0 || prefill.members.length === 0) return this.withoutPair(request, excluded, policy, pool);
    const { upstreamModel, adapter, promptTokens } = request;
    const hashes = hasher.hash({ model: upstreamModel, adapter, salt: request.cacheSalt }, request.promptSpans);
    const key = outputKey(request);
    const scheduled = scheduledRequest(request, outputs.expectedTokens(key, request.maxOutputTokens), random.next());
    const usesSeeds = random.next() < EXPLORATION_RATIO;
    const cached = this.cachedTokens([...prefill.members, ...decode.members], hashes, promptTokens);
    const bestCached = cached.reduce((best, each) => Math.max(best, each), 0);
    this.context.metrics?.matched(modelLabel(request), bestCached / promptTokens);
    const classes = pairClasses(
      {
        members: prefill.members,
        candidates: prefill.members.map(({ live }, i) => candidateOf(live, { cachedTokens: cached[i]!, nowMs, usesSeeds })),
      },
      {
        members: decode.members,
        candidates: decode.members.map((member, i) => {
          const own = cached[prefill.members.length + i]!;
          const remoteTokens = Math.max(0, promptTokens - own);
          const linkSeconds = HAND_OFF_SECONDS + (remoteTokens * member.place.kvBytesPerToken) / LINK_BYTES_PER_SECOND;
          return {
            ...candidateOf(member.live, { cachedTokens: own + remoteTokens, nowMs, usesSeeds }),
            remoteTokens,
            linkSeconds,
          };
        }),
      },
    );
    const base = { request, hashes, outputKey: key, legs: this.legsOf(profileFor(request, this.context)) };
    const options: Option[] = [];
    for (const each of classes) {
      const option = this.pairOf(each, scheduled, doubted, {
        ...base,
        prefillRemoved: prefill.removed,
        decodeRemoved: decode.removed,
      });
      if (option !== undefined) options.push(option);
    }
    if (options.length === 0) return this.withoutPair(request, excluded, policy, pool);
    if (policy.isPossible) {
      const short = decode.members.filter((_, i) => promptTokens - cached[prefill.members.length + i]! < policy.wholeBelowTokens);
      const option = this.wholeOf(short, scheduled, {
        ...base,
        cached,
        decode,
        offset: prefill.members.length,
        nowMs,
        usesSeeds,
      });
      if (option !== undefined) options.push(option);
    }
    const bound = options.find(({ explanation }) => explanation.decode === request.preferred);
    if (bound !== undefined) return bound.make(options.map(({ explanation }) => explanation));
    const best = options.reduce((least, each) => (each.cost < least.cost ? each : least));
    const ties = options.filter(({ cost }) => cost <= best.cost + best.tieWidth);
    const picked = ties.length === 1 ? best : ties[Math.floor(random.next() * ties.length)]!;
    return picked.make(options.map(({ explanation }) => explanation));
  }

  private pairOf(
    { group, prefill, decode }: PairClass,
    scheduled: ScheduledRequest,
    doubted: ReadonlySet<string>,
    base: LegBase & { readonly prefillRemoved: Removed; readonly decodeRemoved: Removed },
  ): Option | undefined {
    const { request, hashes, legs } = base;
    const trusted = prefill.candidates.filter(({ endpoint }) => !doubted.has(endpoint.id));
    const first: ScheduledRequest = { ...scheduled, expectedOutputTokens: 1 };
    const p = measuredSchedule(this.context, request, legs.prefill, first, trusted.length > 0 ? trusted : prefill.candidates);
    const d = measuredSchedule(this.context, request, legs.decode, scheduled, decode.candidates);
    if (p.kind === 'filtered' || d.kind === 'filtered') return undefined;
    const from = memberOf(prefill, p.decision);
    const to = memberOf(decode, d.decision);
    const cost = costOf(p.decision) + costOf(d.decision);
    return {
      cost,
      tieWidth: tieWidthOf(legs.prefill, p.decision),
      explanation: { prefill: from.live.endpoint.id, decode: to.live.endpoint.id, group, cost },
      make: (pairs) => {
        const shared = { hashes, outputKey: base.outputKey };
        const prefillLeg = new LiveAttempt({
          ...shared,
          context: this.context,
          // Its answer comes when the prompt is computed.
          request: { ...request, streams: true },
          scheduled: first,
          live: from.live,
          decision: p.decision,
          removed: base.prefillRemoved,
          leg: 'prefill',
        });
        const decodeLeg = new LiveAttempt({
          ...shared,
          context: this.context,
          request,
          scheduled,
          live: to.live,
          decision: d.decision,
          removed: base.decodeRemoved,
          leg: 'decode',
          pairs,
        });
        return { kind: 'pair', attempt: new PairAttempt(prefillLeg, from.place, decodeLeg) };
      },
    };
  }

  private wholeOf(
    members: readonly PdMember[],
    scheduled: ScheduledRequest,
    base: LegBase & {
      readonly cached: readonly number[];
      readonly offset: number;
      readonly decode: Eligible;
      readonly nowMs: number;
      readonly usesSeeds: boolean;
    },
  ): Option | undefined {
    if (members.length === 0) return undefined;
    const { request, hashes, legs, cached, offset, decode, nowMs, usesSeeds } = base;
    const candidates = members.map((member) =>
      candidateOf(member.live, { cachedTokens: cached[offset + decode.members.indexOf(member)]!, nowMs, usesSeeds }),
    );
    const outcome = measuredSchedule(this.context, request, legs.whole, scheduled, candidates);
    if (outcome.kind === 'filtered') return undefined;
    const { decision } = outcome;
    const { live } = members[candidates.indexOf(decision.picked)]!;
    const cost = costOf(decision);
    return {
      cost,
      tieWidth: 0,
      explanation: { decode: live.endpoint.id, cost },
      make: (pairs) => {
        const input: AttemptInput = {
          context: this.context,
          request,
          scheduled,
          hashes,
          live,
          decision,
          removed: decode.removed,
          outputKey: base.outputKey,
          pairs,
        };
        return { kind: 'whole', attempt: new LiveAttempt(input), isForced: false };
      },
    };
  }

  private legsOf(profile: Profile): Legs {
    let legs = this.legs.get(profile);
    if (legs === undefined) {
      const { scorers, pair } = profile;
      legs = {
        whole: profile,
        prefill: { ...profile, scorers: pair?.prefill ?? scorers },
        decode: { ...profile, scorers: pair?.decode ?? scorers },
      };
      this.legs.set(profile, legs);
    }
    return legs;
  }

  private withoutPair(
    request: SchedulingRequest,
    excluded: ReadonlySet<string>,
    { isPossible }: WholePolicy,
    pool: PdPool | undefined,
  ): NextPair {
    if (isPossible) {
      const next = this.whole.next(request, excluded);
      return next.kind === 'attempt' ? { kind: 'whole', attempt: next.attempt, isForced: true } : next;
    }
    const isThere = (members: readonly PdMember[] = NOBODY): boolean => members.some(({ live }) => live.isAvailable);
    const isComplete = isThere(pool?.prefill) && isThere(pool?.decode);
    return {
      kind: 'none',
      reason: isComplete ? (excluded.size > 0 ? 'excluded' : 'filtered') : 'no-endpoints',
      message: `no valid prefill-decode pod pairs found for model server: ${request.modelServer}`,
    };
  }

  /** Prompt tokens that each is believed to have in its cache. */
  private cachedTokens(members: readonly PdMember[], hashes: LegBase['hashes'], promptTokens: number): readonly number[] {
    const bytes = new Float64Array(members.length);
    this.context.index.lookup(
      hashes,
      members.map(({ live }) => live.endpoint.slot),
      bytes,
    );
    const tokensPerByte = hashes.totalBytes === 0 ? 0 : promptTokens / hashes.totalBytes;
    return Array.from(bytes, (each) => Math.min(promptTokens, each * tokensPerByte));
  }
}

type LegBase = Pick<AttemptInput, 'request' | 'hashes' | 'outputKey'> & { readonly legs: Legs };

/** What decides on each leg, and on decode alone. */
interface Legs {
  readonly whole: Profile;
  readonly prefill: Profile;
  readonly decode: Profile;
}

type Removed = AttemptInput['removed'];

interface Eligible {
  readonly members: readonly PdMember[];
  readonly removed: Removed;
}

const NOTHING_REMOVED: Removed = new Map();

function eligible(
  { modelServer }: SchedulingRequest,
  members: readonly PdMember[],
  excluded: ReadonlySet<string>,
  nowMs: number,
): Eligible {
  const pool = members.map(({ live }): LiveEndpoint => live);
  const narrowed = narrow({ modelServer }, pool, excluded, nowMs);
  if (narrowed.kind === 'none') return { members: NOBODY, removed: NOTHING_REMOVED };
  const kept = new Set(narrowed.pool);
  return { members: members.filter(({ live }) => kept.has(live)), removed: narrowed.removed };
}

function memberOf({ members, candidates }: PairSide, { picked }: Decision): PdMember {
  return members[candidates.indexOf(picked)]!;
}

function costOf({ candidates, costs, picked }: Decision): number {
  return costs[candidates.indexOf(picked)]!;
}

function tieWidthOf(profile: Profile, { candidates, terms, picked }: Decision): number {
  const at = candidates.indexOf(picked);
  return profile.tieWidth(profile.scorers.map((_, s) => terms[s * candidates.length + at]!));
}
