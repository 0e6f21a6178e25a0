import type { VirtualClock } from '../../lib/virtual-clock';
import type { TracedRequest } from '../replay/workload/traced-request';
import { type DayResult, DayRun } from './day-run';
import { batchAtObjective, type Service } from './service';
import { BySchedule } from './strategies/by-schedule';
import type { Strategy } from './strategies/strategy';
import { type StrategyName, strategyOf, type Trial } from './strategies/trials';
import type { Day } from './traffic/day';
import { diurnalDay } from './traffic/diurnal';
import { tracedDay } from './traffic/traced';

export const TRAFFIC_NAMES = ['diurnal', 'bursts', 'trace'] as const;
export type TrafficName = (typeof TRAFFIC_NAMES)[number];

/** What days are made of. */
export interface TrafficOptions {
  readonly durationMs: number;
  /** Requests per second at the busiest time of a diurnal day, bursts aside. */
  readonly peakRate: number;
  readonly trace: readonly TracedRequest[];
}

/** Unannounced bursts of `bursts`. */
const BURSTS = 8;
/** Mean of a diurnal day ÷ its peak, which is the mean of a day of the trace too. */
const MEAN_OF_PEAK = 5 / 8;

/** A day of one kind. Equal seeds give equal days. */
export function dayOf(
  traffic: TrafficName,
  seed: number,
  { durationMs, peakRate, trace }: TrafficOptions,
  { lengths }: Service,
): Day {
  if (traffic === 'trace') return tracedDay({ trace, seed, durationMs, meanRate: MEAN_OF_PEAK * peakRate, lengths });
  return diurnalDay({ seed, durationMs, peakRate, lengths, ...(traffic === 'bursts' ? { bursts: BURSTS } : {}) });
}

/** One day under one strategy. Plain data, so that it can be sent to another process. */
export interface DayTask {
  readonly traffic: TrafficName;
  readonly seed: number;
  /** Replicas that serve when the day begins. */
  readonly first: readonly number[];
  readonly strategy:
    | { readonly kind: 'trial'; readonly name: StrategyName; readonly trial: Trial }
    /** Replicas of each pool for each slot of hindsight. */
    | { readonly kind: 'schedule'; readonly mixes: readonly (readonly number[])[] };
}

/** Runs a task on the day that it names. */
export function runTask(task: DayTask, day: Day, service: Service): Promise<DayResult> {
  const { pools, model, objectives } = service;
  const batches = batchAtObjective(service);
  const strategy = (clock: VirtualClock): Strategy =>
    task.strategy.kind === 'schedule'
      ? new BySchedule(
          task.strategy.mixes,
          pools.map(({ startMs }) => startMs),
        )
      : strategyOf(task.strategy.name, task.strategy.trial, { service, batches, clock });
  return new DayRun({ pools, model, objectives, day, first: task.first, strategy }).run();
}

/** Runs days one after the other, however many are asked for at once: each takes memory. */
export function oneByOne(run: (task: DayTask, day: Day) => Promise<DayResult>): typeof run {
  let last: Promise<unknown> = Promise.resolve();
  return (task, day) => {
    const next = last.then(() => run(task, day));
    last = next.catch(() => undefined);
    return next;
  };
}
