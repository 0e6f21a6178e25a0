import type { AutoscalingPolicyStatus, LearnedCapacityStatus } from '../../../src/api/autoscaling-policy';
import { parseQuantity } from '../../../src/quantity';
import type { EngineWindow } from '../decide/capacity/engine-window';
import {
  type CapacityPrior,
  type LearnedCapacity,
  learnCapacity,
  learnedRate,
  learnedStep,
  NOTHING_LEARNED,
} from '../decide/capacity/learn-capacity';
import type { LatencyGoal } from '../decide/capacity/rate-at-slo';
import type { RequestPart } from '../decide/capacity/request-part';
import type { TrafficMix } from '../decide/capacity/step-model';
import { addTraffic, EMPTY_MIX, type MixMemory, mixOf } from '../decide/capacity/traffic';
import { type PoolEngine, priorOf } from './pool-engine';

/** Requests to assume before some were seen; an assumption. */
const FIRST_MIX: TrafficMix = { promptTokens: 1024, prefillTokens: 1024, outputTokens: 256 };

/** One pool of a policy in one round. */
export interface SeenPool {
  readonly name: string;
  readonly engine: PoolEngine;
  /** Since the last round, one for each engine. */
  readonly windows: readonly EngineWindow[];
  /** What it does of each request; absent: all of it. */
  readonly part?: RequestPart;
}

/** What one replica of a pool carries, and how that is known. */
export interface PoolRate {
  /** Requests of the present mix per second within the goal. */
  readonly rate: number;
  /** Requests as they are, or are assumed to be before some were seen. */
  readonly mix: TrafficMix;
  /** What status keeps of it. */
  readonly learned: Omit<LearnedCapacityStatus, 'time'>;
}

interface Entry {
  readonly revision: string;
  readonly learned: LearnedCapacity;
}

/** What was learned of engines, by policy and pool, in this process; status has what a restart must not lose. */
export class CapacityBook {
  private readonly entries = new Map<string, Entry>();
  private readonly mixes = new Map<string, MixMemory>();

  /**
   * Learns from one round of a policy, and tells what its pools carry now. Requests of pools that do the same part of them make one mix.
   *
   * @param status of the policy, for what an earlier process learned.
   */
  learn(
    policyId: string,
    pools: readonly SeenPool[],
    goal: LatencyGoal | undefined,
    status: AutoscalingPolicyStatus | undefined,
  ): readonly PoolRate[] {
    const parts = new Set(pools.map(({ part }) => part));
    for (const part of parts) {
      const windows = pools.flatMap((pool) => (pool.part === part ? pool.windows : []));
      const key = keyOf(policyId, part ?? '');
      this.mixes.set(key, windows.reduce(addTraffic, this.mixes.get(key) ?? EMPTY_MIX));
    }
    return pools.map(({ name, engine, windows, part }) => {
      const key = keyOf(policyId, name);
      const seen = mixOf(this.mixes.get(keyOf(policyId, part ?? ''))!);
      const mix = seen ?? FIRST_MIX;
      const prior = { ...priorOf(engine, mix), ...(part !== undefined && { part }) };
      const known = this.entries.get(key);
      const before = known?.revision === engine.revision ? known.learned : restored(status, name, engine.revision);
      const learned = learnCapacity(before, windows, prior, seen, goal);
      this.entries.set(key, { revision: engine.revision, learned });
      return { rate: learnedRate(learned, prior, mix, goal), mix, learned: statusOf(learned, prior, engine.revision) };
    });
  }

  /** Whether the mix of a policy's requests is known. */
  hasMix(policyId: string): boolean {
    return mixOf(this.mixes.get(keyOf(policyId, '')) ?? EMPTY_MIX) !== undefined;
  }

  /** Forgets policies that are not there any more. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const book of [this.mixes, this.entries]) {
      for (const key of book.keys()) if (!ids.has(key.slice(0, key.indexOf('\n')))) book.delete(key);
    }
  }
}

function keyOf(policyId: string, pool: string): string {
  return `${policyId}\n${pool}`;
}

function statusOf(learned: LearnedCapacity, prior: CapacityPrior, revision: string): PoolRate['learned'] {
  const { baseMs, perSequenceMs, perPrefillTokenMs } = learnedStep(learned, prior);
  const shown = (value: number): string => String(Number(value.toPrecision(4)));
  return {
    revision,
    factorPercent: Math.round(learned.factor * 100),
    stepBaseMs: shown(baseMs),
    stepPerSequenceMs: shown(perSequenceMs),
    stepPerPrefillTokenMs: shown(perPrefillTokenMs),
  };
}

/** What a process before this one learned of the same revision. */
function restored(status: AutoscalingPolicyStatus | undefined, pool: string, revision: string): LearnedCapacity {
  const units =
    status?.heterogeneousStatus ??
    status?.disaggregatedStatus?.roles ??
    (status?.homogeneousStatus ? [status.homogeneousStatus] : []);
  const kept = units.find(({ name }) => name === pool)?.learnedCapacity;
  if (kept?.revision !== revision) return NOTHING_LEARNED;
  const [baseMs, perSequenceMs, perPrefillTokenMs] = [kept.stepBaseMs, kept.stepPerSequenceMs, kept.stepPerPrefillTokenMs].map(
    (text) => parseQuantity(text),
  );
  if (baseMs === undefined || perSequenceMs === undefined || perPrefillTokenMs === undefined) return NOTHING_LEARNED;
  return { ...NOTHING_LEARNED, factor: kept.factorPercent / 100, start: { baseMs, perSequenceMs, perPrefillTokenMs } };
}
