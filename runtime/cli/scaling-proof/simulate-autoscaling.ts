import { KvasirError } from '../../../src/errors';
import { cheapestMix } from '../../autoscaler/decide/cheapest-mix';
import type { DayResult } from './day-run';
import { type DayTask, dayOf, type TrafficName, type TrafficOptions } from './day-task';
import { cheapestSchedule } from './hindsight/cheapest-schedule';
import { lowerBound } from './hindsight/lower-bound';
import { SLOT_MS, slotDemand } from './hindsight/slot-demand';
import { missRate } from './report/summary';
import { type Service, tokensAtObjective } from './service';
import { STRATEGY_NAMES, type StrategyName, TRIALS, type Trial, trialText } from './strategies/trials';
import type { Day } from './traffic/day';

export interface SimulationOptions extends TrafficOptions {
  readonly service: Service;
  readonly traffics: readonly TrafficName[];
  readonly seed: number;
  /** Days on which the settings of each strategy are chosen. */
  readonly trainingDays: number;
  /** Days that are reported, none of which a setting was chosen on. */
  readonly heldOutDays: number;
  /** Runs one day; asked for many at once. */
  readonly run: (task: DayTask, day: Day) => Promise<DayResult>;
  readonly onProgress?: (progress: { readonly traffic: TrafficName; readonly what: string; readonly runs: number }) => void;
}

/** One strategy on one kind of traffic. */
export interface StrategyOutcome {
  readonly name: StrategyName;
  readonly trial: Trial;
  /** Of the trial on the training days: whether it kept the bar on each, the mean cost, and the misses of the worst. */
  readonly training: { readonly isWithinBar: boolean; readonly cost: number; readonly sloMissRate: number };
  /** In the order of `TrafficOutcome.seeds`. */
  readonly days: readonly DayResult[];
}

/** What hindsight does with one day. */
export interface HindsightDay {
  readonly result: DayResult;
  /** Share of the most that the objective allows which its replicas are loaded to. */
  readonly load: number;
  readonly lowerBound: number;
}

export interface TrafficOutcome {
  readonly traffic: TrafficName;
  readonly seeds: readonly number[];
  readonly strategies: readonly StrategyOutcome[];
  readonly hindsight: readonly HindsightDay[];
}

/** Share of the requests that may miss the objective. */
export const MISS_BAR = 0.01;
/** The same on a training day, for a setting to be kept: days that are alike otherwise differ by a third in what is missed. */
export const TRAINING_BAR = 0.007;
/** Loads that hindsight tries, as shares of what the objective allows; the greatest that keeps the bar counts. */
const LOADS = Array.from({ length: 17 }, (_, i) => 0.6 + i / 32);
/** Where hindsight begins to look on the first day; on the next ones where the day before ended. */
const FIRST_PLACE = 10;

/**
 * What scaling strategies cost on the same days, and how many requests they make too slow. Settings are chosen on training days, the
 * first one that keeps a stricter bar on each of them, and reported on others. Deterministic for its seed.
 *
 * @throws KvasirError `simulate/peak-above-maximum` when the busiest minute of a day is more than all replicas carry.
 */
export async function simulateAutoscaling(options: SimulationOptions): Promise<readonly TrafficOutcome[]> {
  const { traffics, seed, trainingDays, heldOutDays, service } = options;
  const seeds = Array.from({ length: trainingDays + heldOutDays }, (_, i) => seed * 1000 + i);
  for (const traffic of traffics) for (const each of seeds) refuseBeyondMaximum(service, dayOf(traffic, each, options, service));
  const outcomes: TrafficOutcome[] = [];
  for (const traffic of traffics) outcomes.push(await new Comparison(traffic, options).of(seeds));
  return outcomes;
}

class Comparison {
  private runs = 0;

  constructor(
    private readonly traffic: TrafficName,
    private readonly options: SimulationOptions,
  ) {}

  async of(seeds: readonly number[]): Promise<TrafficOutcome> {
    const { options, traffic } = this;
    const days = seeds.map((seed) => dayOf(traffic, seed, options, options.service));
    const training = days.slice(0, options.trainingDays);
    const heldOut = days.slice(options.trainingDays);
    const chosen = await Promise.all(STRATEGY_NAMES.map((name) => this.choose(name, training)));
    const strategies = await Promise.all(
      chosen.map(async (each): Promise<StrategyOutcome> => {
        const results = heldOut.map((day) =>
          this.run(each.name, `day ${day.seed}`, day, { kind: 'trial', name: each.name, trial: each.trial }),
        );
        return { ...each, days: await Promise.all(results) };
      }),
    );
    const hindsight: HindsightDay[] = [];
    let place = FIRST_PLACE;
    for (const day of heldOut) {
      const found = await this.hindsight(day, place);
      ({ place } = found);
      hindsight.push(found);
    }
    return { traffic, seeds: heldOut.map(({ seed }) => seed), strategies, hindsight };
  }

  /** The first setting that keeps the stricter bar on every training day; they begin with the one that asks for fewest replicas. */
  private async choose(name: StrategyName, days: readonly Day[]): Promise<Omit<StrategyOutcome, 'days'>> {
    const tried: Omit<StrategyOutcome, 'days'>[] = [];
    for (const trial of TRIALS[name]) {
      const results: DayResult[] = [];
      for (const day of days) {
        results.push(await this.run(name, trialText(trial), day, { kind: 'trial', name, trial }));
        if (missRate(results.at(-1)!) > TRAINING_BAR) break;
      }
      const sloMissRate = Math.max(0, ...results.map(missRate));
      const cost = results.reduce((sum, result) => sum + result.cost, 0) / results.length;
      tried.push({ name, trial, training: { isWithinBar: sloMissRate <= TRAINING_BAR, cost, sloMissRate } });
      if (sloMissRate <= TRAINING_BAR) return tried.at(-1)!;
    }
    // Where nothing keeps the bar, the one that misses least is all there is.
    return tried.reduce((best, each) => (each.training.sloMissRate < best.training.sloMissRate ? each : best));
  }

  /** The greatest load at which the schedule that is cheapest in hindsight keeps the bar. @param near a place in `LOADS` to begin at. */
  private async hindsight(day: Day, near: number): Promise<HindsightDay & { readonly place: number }> {
    const { service } = this.options;
    const capacities = tokensAtObjective(service);
    const demand = slotDemand(day, service.objectives.itlMs);
    const first = firstMix(service, day);
    const endMs = service.lengths.outputTokens * service.objectives.itlMs;
    const least = lowerBound(service, day, MISS_BAR);
    const at = async (place: number): Promise<HindsightDay & { readonly place: number }> => {
      const load = LOADS[place]!;
      const pools = service.pools.map((pool, i) => ({ ...pool, capacity: load * capacities[i]!, endMs }));
      const { mixes } = cheapestSchedule(pools, demand, SLOT_MS, first);
      const result = await this.run('hindsight', `day ${day.seed}`, day, { kind: 'schedule', mixes });
      return { place, load, result, lowerBound: least };
    };
    const keepsBar = ({ result }: HindsightDay): boolean => missRate(result) <= MISS_BAR;
    let best = await at(near);
    if (keepsBar(best)) {
      while (best.place + 1 < LOADS.length) {
        const next = await at(best.place + 1);
        if (!keepsBar(next)) break;
        best = next;
      }
    } else while (best.place > 0 && !keepsBar(best)) best = await at(best.place - 1);
    return best;
  }

  private async run(name: string, what: string, day: Day, strategy: DayTask['strategy']): Promise<DayResult> {
    const { traffic, options } = this;
    const result = await options.run({ traffic, seed: day.seed, first: firstMix(options.service, day), strategy }, day);
    this.runs += 1;
    options.onProgress?.({ traffic, what: `${name}, ${what}`, runs: this.runs });
    return result;
  }
}

/** Share of the most that the objective allows to which the replicas are loaded that a day begins with; for every strategy. */
const FIRST_LOAD = 0.75;

/** The cheapest replicas that carry the first hour's load. */
function firstMix(service: Service, day: Day): readonly number[] {
  const rates = tokensAtObjective(service);
  const demand = slotDemand(day, service.objectives.itlMs).slice(0, 60);
  const pools = service.pools.map(({ name, min, max, pricePerHour }, i) => ({
    name,
    min,
    max,
    cost: pricePerHour,
    capacity: rates[i]!,
  }));
  return cheapestMix(pools, Math.max(...demand) / FIRST_LOAD);
}

function refuseBeyondMaximum(service: Service, day: Day): void {
  const rates = tokensAtObjective(service);
  const most = service.pools.reduce((sum, { max }, i) => sum + max * rates[i]!, 0);
  const busiest = Math.max(0, ...slotDemand(day, service.objectives.itlMs));
  if (busiest <= most) return;
  const pools = service.pools.map(({ accelerator, max }) => `${max} × ${accelerator}`).join(' and ');
  throw new KvasirError({
    code: 'simulate/peak-above-maximum',
    field: '--peak',
    message: `the busiest minute of ${day.traffic} day ${day.seed} asks for ${Math.round(busiest)} output tokens/s, and ${pools} generate ${Math.round(most)} within the objective`,
    remedy: 'give a lower --peak, or pools with a greater maximum: no strategy could serve it',
  });
}
