import { tableLines } from '../../table';
import type { DayResult } from '../day-run';
import { type StrategyOutcome, TRAINING_BAR, type TrafficOutcome } from '../simulate-autoscaling';
import { trialText } from '../strategies/trials';
import { costRange, median, missRate } from './summary';

interface Row {
  readonly traffic: string;
  readonly name: string;
  readonly setting: string;
  readonly days: readonly DayResult[];
  /** Cost of each day as a multiple of hindsight's. */
  readonly toHindsight: readonly number[];
}

/** Costs and misses over the held-out days, for people: medians, and the worst day in brackets. */
export function outcomeTable(outcomes: readonly TrafficOutcome[]): readonly string[] {
  const rows = outcomes.flatMap((outcome): readonly Row[] => [
    ...outcome.strategies.map((strategy) => ({
      traffic: outcome.traffic,
      name: strategy.name,
      setting: settingText(strategy),
      days: strategy.days,
      toHindsight: strategy.days.map(({ cost }, i) => cost / outcome.hindsight[i]!.result.cost),
    })),
    {
      traffic: outcome.traffic,
      name: 'hindsight',
      setting: `lower bound ${dollars(median(outcome.hindsight.map(({ lowerBound }) => lowerBound)))}`,
      days: outcome.hindsight.map(({ result }) => result),
      toHindsight: outcome.hindsight.map(() => 1),
    },
  ]);
  return tableLines(
    [
      { title: 'TRAFFIC', cell: ({ traffic }: Row) => traffic, isText: true },
      { title: 'STRATEGY', cell: ({ name }) => name, isText: true },
      { title: 'COST/DAY', cell: ({ days }) => costText(days) },
      { title: '× HINDSIGHT', cell: ({ toHindsight }) => median(toHindsight).toFixed(2) },
      { title: 'GPU H', cell: ({ days }) => median(days.map(({ gpuHours }) => gpuHours)).toFixed(1) },
      { title: 'MISSED', cell: ({ days }) => missText(days) },
      { title: 'SCALINGS', cell: ({ days }) => String(median(days.map(({ scalings }) => scalings))) },
      { title: 'SETTING', cell: ({ setting }) => setting, isText: true },
    ],
    rows,
  );
}

function settingText({ trial, training }: StrategyOutcome): string {
  const text = trialText(trial);
  return training.isWithinBar ? text : `${text} (no setting kept ${(100 * TRAINING_BAR).toFixed(1)} %)`;
}

function costText(days: readonly DayResult[]): string {
  const { median: middle, worst } = costRange(days);
  return `${dollars(middle)} (${dollars(worst)})`;
}

function missText(days: readonly DayResult[]): string {
  const rates = days.map(missRate);
  return `${percent(median(rates))} (${percent(Math.max(...rates))})`;
}

const dollars = (value: number): string => `$${value.toFixed(2)}`;

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
