import type { Clock } from '../../../lib/clock';
import type { Service } from '../service';
import { ByPolicy } from './by-policy';
import { HpaPerPool } from './hpa-per-pool';
import type { Strategy } from './strategy';

/** `kvasir`: the autoscaler's default over several pools; `kthena`: Kthena 1.0's algorithm, exact; `kthena-fixed`: its blocks without its faults; `hpa`: one HorizontalPodAutoscaler per pool. */
export const STRATEGY_NAMES = ['kvasir', 'kthena', 'kthena-fixed', 'hpa'] as const;
export type StrategyName = (typeof STRATEGY_NAMES)[number];

/** One way to set a strategy up. */
export type Trial =
  /** What `spec.slo` asks for. */
  | { readonly kind: 'slo'; readonly itlMs: number; readonly percentile: number }
  /** Share of the batch at the objective, by the catalogue, that a replica should run. */
  | { readonly kind: 'batch'; readonly share: number };

const ofBatch = (share: number): Trial => ({ kind: 'batch', share });
const slo = (itlMs: number, percentile: number): Trial => ({ kind: 'slo', itlMs, percentile });

/** What each strategy is tried with: equally many settings for all, those that ask for fewer replicas first. */
export const TRIALS: Readonly<Record<StrategyName, readonly Trial[]>> = {
  kvasir: [slo(60, 95), slo(60, 99), slo(57, 99), slo(54, 99)],
  // One target holds for all pools, so that it has to suit the weakest.
  kthena: [0.6, 0.5, 0.4, 0.3].map(ofBatch),
  'kthena-fixed': [0.6, 0.5, 0.4, 0.3].map(ofBatch),
  hpa: [0.8, 0.7, 0.6, 0.5].map(ofBatch),
};

export function trialText(trial: Trial): string {
  return trial.kind === 'slo'
    ? `slo ${trial.itlMs} ms for ${trial.percentile} %`
    : `${Math.round(100 * trial.share)} % of the batch`;
}

export interface TrialSetting {
  readonly service: Service;
  /** Requests that a replica of each pool computes at once at the objective. */
  readonly batches: readonly number[];
  readonly clock: Clock;
}

export function strategyOf(name: StrategyName, trial: Trial, { service, batches, clock }: TrialSetting): Strategy {
  const { pools, objectives } = service;
  if (trial.kind === 'slo') {
    const { itlMs, percentile } = trial;
    // A policy names a metric beside `slo`; at the most that an engine computes at once it asks for nothing that `slo` does not.
    const running = Math.max(...pools.map(({ room }) => room.maxSequences));
    return new ByPolicy(pools, { algorithm: 'default', slo: { ttftMs: objectives.ttftMs, itlMs, percentile }, running }, clock);
  }
  const targets = batches.map((batch) => Math.max(1, Math.round(trial.share * batch)));
  if (name === 'hpa') return new HpaPerPool(pools, targets);
  // Kthena's policies have one target value for replicas of all pools.
  const running = Math.round(targets.reduce((sum, target) => sum + target, 0) / targets.length);
  return name === 'kthena'
    ? new ByPolicy(pools, { algorithm: 'kthena', running }, clock)
    : new ByPolicy(pools, { algorithm: 'default', strategy: 'blocks', running }, clock);
}
