import type { DayResult } from '../day-run';
import type { TrafficOutcome } from '../simulate-autoscaling';
import { trialText } from '../strategies/trials';
import { costRange, median, missRate } from './summary';

/** The outcome of one kind of traffic as one part of the JSON document. */
export function outcomeDocument({ traffic, seeds, strategies, hindsight }: TrafficOutcome): object {
  return {
    traffic,
    seeds,
    strategies: strategies.map(({ name, trial, training, days }) => ({
      name,
      setting: trialText(trial),
      training: { cost: training.cost, sloMissRate: training.sloMissRate, isWithinBar: training.isWithinBar },
      ...summaryOf(days),
      toHindsight: median(days.map(({ cost }, i) => cost / hindsight[i]!.result.cost)),
      days: days.map((day, i) => ({ seed: seeds[i], ...figuresOf(day) })),
    })),
    hindsight: {
      ...summaryOf(hindsight.map(({ result }) => result)),
      days: hindsight.map(({ result, load }, i) => ({ seed: seeds[i], load, ...figuresOf(result) })),
    },
    lowerBound: {
      cost: median(hindsight.map(({ lowerBound }) => lowerBound)),
      days: hindsight.map(({ lowerBound }, i) => ({ seed: seeds[i], cost: lowerBound })),
    },
  };
}

/** Medians over days. */
function summaryOf(days: readonly DayResult[]): object {
  const { median: cost, worst: worstCost } = costRange(days);
  const rates = days.map(missRate);
  return {
    cost,
    worstCost,
    gpuHours: median(days.map(({ gpuHours }) => gpuHours)),
    sloMissRate: median(rates),
    worstSloMissRate: Math.max(...rates),
    scalings: median(days.map(({ scalings }) => scalings)),
  };
}

function figuresOf({ requests, failed, cost, gpuHours, scalings, missed }: DayResult): object {
  return { cost, gpuHours, sloMissRate: missRate({ missed, requests }), scalings, requests, failed };
}
