import { writeFileSync } from 'node:fs';
import { Argument, type Command, InvalidArgumentError } from 'commander';
import { KvasirError } from '../../../src/errors';
import { type Output, processOutput } from '../output';
import { parseSeed } from '../parse-number';
import { readTrace } from '../replay/workload/read-trace';
import { oneByOne, runTask, TRAFFIC_NAMES, type TrafficName } from '../scaling-proof/day-task';
import { dayChart } from '../scaling-proof/report/day-chart';
import { outcomeDocument } from '../scaling-proof/report/outcome-document';
import { outcomeTable } from '../scaling-proof/report/outcome-table';
import { missRate } from '../scaling-proof/report/summary';
import type { Service } from '../scaling-proof/service';
import { type PoolOptions, parsePools, servicePool } from '../scaling-proof/service-pool';
import { simulateAutoscaling, type TrafficOutcome } from '../scaling-proof/simulate-autoscaling';
import { TRIALS } from '../scaling-proof/strategies/trials';

interface SimulateFlags {
  readonly model: string;
  readonly pools: readonly PoolOptions[];
  readonly nodeStart: number;
  readonly traffic?: readonly TrafficName[];
  readonly trace?: string;
  readonly peak: number;
  readonly hours: number;
  readonly days: number;
  readonly trainingDays: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly ttftSlo: number;
  readonly itlSlo: number;
  readonly seed: number;
  readonly chart?: string;
  readonly json?: true;
}

const HOUR_MS = 3_600_000;
const DEFAULT_POOLS = 'A100-SXM-80GB:0-4,L40S-48GB:1-6';

/** `kvasir simulate autoscaling`: what scaling strategies cost over days of traffic, in virtual time. */
export function addSimulateCommand(program: Command): void {
  program
    .command('simulate')
    .description('compare what autoscaling strategies cost over days of traffic, in virtual time')
    .addArgument(new Argument('<what>', 'what is compared').choices(['autoscaling']))
    .option('--model <name>', 'model of the catalogue', 'Qwen/Qwen3-8B')
    .option('--pools <ranges>', 'accelerator classes with fewest and most replicas', parsePools, parsePools(DEFAULT_POOLS))
    .option('--node-start <seconds>', 'until a pod has its node and image; weights are loaded after that', within(0, 3600), 120)
    .option('--traffic <names>', 'kinds of day, with commas: diurnal, bursts, trace', traffics)
    .option('--trace <file>', 'a Mooncake trace, plain or gzip, for days of kind trace')
    .option('--peak <n>', 'requests per second at the busiest time of the day, bursts aside', within(0.01, 1000), 1.4)
    .option('--hours <n>', 'length of a day', within(0.5, 24), 24)
    .option('--days <n>', 'days of each kind that are reported', whole(1, 50), 5)
    .option('--training-days <n>', 'other days, on which the setting of each strategy is chosen', whole(1, 10), 2)
    .option('--prompt-tokens <n>', 'tokens of a prompt, on the mean', whole(2, 8000), 768)
    .option('--output-tokens <n>', 'tokens of an answer, on the mean', whole(1, 20_000), 3000)
    .option('--ttft-slo <ms>', 'a first token later than this misses the objective', within(1, 600_000), 2000)
    .option('--itl-slo <ms>', 'a slower answer than this between tokens misses it too', within(1, 10_000), 60)
    .option('--seed <n>', 'seed of everything random', parseSeed, 1)
    .option('--chart <file>', 'writes load, replicas and cost of the first reported day as an SVG image, one for each kind')
    .option('--json', 'print one JSON document')
    .action((_what: string, flags: SimulateFlags) => runSimulate(flags));
}

async function runSimulate(flags: SimulateFlags): Promise<void> {
  const output = processOutput({ json: flags.json === true });
  const { model, pools, nodeStart, promptTokens, outputTokens, ttftSlo, itlSlo, hours, seed } = flags;
  const service: Service = {
    model,
    pools: pools.map((pool) => servicePool(pool, { model, nodeStartMs: 1000 * nodeStart })),
    objectives: { ttftMs: ttftSlo, itlMs: itlSlo },
    lengths: { promptTokens, outputTokens },
  };
  const traffics = trafficOf(flags);
  const durationMs = hours * HOUR_MS;
  const outcomes = await simulateAutoscaling({
    service,
    traffics,
    durationMs,
    seed,
    peakRate: flags.peak,
    trace: flags.trace === undefined ? [] : readTrace(flags.trace),
    trainingDays: flags.trainingDays,
    heldOutDays: flags.days,
    run: oneByOne((task, day) => runTask(task, day, service)),
    onProgress: ({ traffic, what, runs }) => output.block([`${traffic}: ${runs} days done, the last by ${what}`]),
  });
  describe(output, flags, service);
  for (const line of outcomeTable(outcomes)) output.line(line);
  if (flags.chart !== undefined) writeCharts(flags.chart, outcomes, { service, durationMs });
  output.document({
    service: {
      model,
      objectives: service.objectives,
      lengths: service.lengths,
      pools: service.pools.map(({ accelerator, min, max, pricePerHour, startMs }) => ({
        accelerator,
        min,
        max,
        pricePerHour,
        startMs,
      })),
    },
    hours,
    peakRate: flags.peak,
    seed,
    trainingDays: flags.trainingDays,
    traffics: outcomes.map(outcomeDocument),
  });
}

function describe(output: Output, { days, trainingDays, hours }: SimulateFlags, { model, pools, objectives }: Service): void {
  const fleet = pools.map(({ accelerator, min, max, pricePerHour }) => `${min} to ${max} × ${accelerator} at $${pricePerHour}/h`);
  const tried = `${TRIALS.kvasir.length} settings of each strategy on ${trainingDays} other days`;
  output.line(`${model} on ${fleet.join(' and ')}; ${days} days of ${hours} h, after ${tried}`);
  output.line(
    `a miss: TTFT > ${objectives.ttftMs} ms, or mean ITL > ${objectives.itlMs} ms, or no answer; medians over days (worst)`,
  );
}

/** Kinds of day: those that are named, else all that there are traces for. */
function trafficOf({ traffic, trace }: SimulateFlags): readonly TrafficName[] {
  const wanted = traffic ?? TRAFFIC_NAMES.filter((name) => name !== 'trace' || trace !== undefined);
  if (wanted.includes('trace') && trace === undefined) {
    throw new KvasirError({
      code: 'simulate/no-trace',
      field: '--traffic',
      message: 'trace is a day of a recorded trace, and none is given',
      remedy: 'give --trace with a file, or leave trace out',
    });
  }
  return wanted;
}

function writeCharts(
  file: string,
  outcomes: readonly TrafficOutcome[],
  { service, durationMs }: { readonly service: Service; readonly durationMs: number },
): void {
  for (const { traffic, seeds, strategies, hindsight } of outcomes) {
    const days = [
      ...strategies.map(({ name, days: [day] }) => ({ name, day: day! })),
      { name: 'hindsight', day: hindsight[0]!.result },
    ];
    const chart = dayChart({
      title: `${traffic}, day ${seeds[0]}`,
      pools: service.pools.map(({ accelerator }) => accelerator),
      durationMs,
      days: days.map(({ name, day }) => ({
        name,
        caption: `$${day.cost.toFixed(2)}, ${(100 * missRate(day)).toFixed(2)} % missed`,
        points: day.points,
      })),
    });
    const path = outcomes.length === 1 ? file : file.replace(/(\.svg)?$/, `-${traffic}.svg`);
    try {
      writeFileSync(path, chart);
    } catch (error) {
      throw new KvasirError(
        {
          code: 'simulate/cannot-write',
          field: '--chart',
          file: path,
          message: `cannot be written (${(error as NodeJS.ErrnoException).code ?? String(error)})`,
          remedy: 'give a file in a folder that exists',
        },
        { cause: error },
      );
    }
  }
}

function traffics(text: string): readonly TrafficName[] {
  const names = text.split(',').map((name) => name.trim());
  for (const name of names)
    if (!TRAFFIC_NAMES.some((known) => known === name)) throw new InvalidArgumentError(`use ${TRAFFIC_NAMES.join(', ')}`);
  return TRAFFIC_NAMES.filter((name) => names.includes(name));
}

function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`give a whole number from ${least} to ${most}`);
  };
}

function within(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`give a number from ${least} to ${most}`);
  };
}
