/**
 * Whether the autoscaler is cheaper: days of traffic under ours, Kthena's algorithm (exact, and without its faults) and one
 * HorizontalPodAutoscaler per pool, through the router's own scheduler over simulated engines in virtual time. Prints a table, and ends
 * with 1 when, on a kind of day,
 *
 * - another strategy costs no more and misses no more than ours (ours is not on the Pareto front of the held-out days), or
 * - another strategy that keeps 1 % misses costs no more than ours on the median, or ours does not keep them.
 *
 * Run: npx tsx test/bench/autoscaling-cost.bench.ts [--traffic diurnal,bursts,trace] [--days 5] [--training-days 2] [--hours 24]
 * [--peak 1.4] [--seed 1] [--jobs 2] [--json file] [--resume file]
 *
 * `--resume` keeps each finished day in a file, one JSON line each, so that a run that was ended goes on where it was. The file holds for the
 * same code and flags only.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readTrace } from '../../runtime/cli/replay/workload/read-trace';
import type { DayResult } from '../../runtime/cli/scaling-proof/day-run';
import { type DayTask, dayOf, runTask, TRAFFIC_NAMES, type TrafficName } from '../../runtime/cli/scaling-proof/day-task';
import { outcomeDocument } from '../../runtime/cli/scaling-proof/report/outcome-document';
import { outcomeTable } from '../../runtime/cli/scaling-proof/report/outcome-table';
import { costRange, median, missRate } from '../../runtime/cli/scaling-proof/report/summary';
import type { Service } from '../../runtime/cli/scaling-proof/service';
import { parsePools, servicePool } from '../../runtime/cli/scaling-proof/service-pool';
import { MISS_BAR, simulateAutoscaling, type TrafficOutcome } from '../../runtime/cli/scaling-proof/simulate-autoscaling';

const { values: flags } = parseArgs({
  options: {
    traffic: { type: 'string', default: TRAFFIC_NAMES.join(',') },
    days: { type: 'string', default: '5' },
    'training-days': { type: 'string', default: '2' },
    hours: { type: 'string', default: '24' },
    peak: { type: 'string', default: '1.4' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
    json: { type: 'string' },
    resume: { type: 'string' },
    worker: { type: 'boolean', default: false },
  },
});

const MODEL = 'Qwen/Qwen3-8B';
const service: Service = {
  model: MODEL,
  pools: parsePools('A100-SXM-80GB:0-4,L40S-48GB:1-6').map((pool) => servicePool(pool, { model: MODEL, nodeStartMs: 120_000 })),
  objectives: { ttftMs: 2000, itlMs: 60 },
  lengths: { promptTokens: 768, outputTokens: 3000 },
};
const traffic = {
  durationMs: Number(flags.hours) * 3_600_000,
  peakRate: Number(flags.peak),
  trace: readTrace(join(__dirname, '../fixtures/traces/mooncake-conversation.jsonl.gz')),
};

/** Runs the days that the parent sends, one after the other. */
function work(): void {
  process.on('message', (task: DayTask) => {
    void runTask(task, dayOf(task.traffic, task.seed, traffic, service), service).then((result) => process.send!(result));
  });
}

/** Processes that run days; each does one at a time. */
class Workers {
  private readonly idle: ChildProcess[] = [];
  private readonly all: ChildProcess[] = [];
  private readonly waiting: (() => void)[] = [];

  constructor(count: number) {
    for (let i = 0; i < count; i++) this.all.push(fork(__filename, [...process.argv.slice(2), '--worker']));
    this.idle.push(...this.all);
  }

  async run(task: DayTask): Promise<DayResult> {
    while (this.idle.length === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    const worker = this.idle.pop()!;
    const result = await new Promise<DayResult>((resolve, reject) => {
      worker.once('message', (message) => resolve(message as DayResult));
      worker.once('exit', (code) => reject(new Error(`a worker ended with ${code}`)));
      worker.send(task);
    });
    worker.removeAllListeners('exit');
    this.idle.push(worker);
    this.waiting.shift()?.();
    return result;
  }

  end(): void {
    for (const worker of this.all) worker.kill();
  }
}

/** Days that were run before, and those that are run now. */
class FinishedDays {
  private readonly results = new Map<string, DayResult>();

  constructor(private readonly file: string) {
    if (!existsSync(file)) return;
    const text = readFileSync(file, 'utf8');
    // A run that was ended may have left the last line half-written.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) writeFileSync(file, whole);
    const lines = whole.split('\n').slice(0, -1);
    for (const { key, result } of lines.map((line) => JSON.parse(line))) this.results.set(key, result);
  }

  async get(task: DayTask, run: (task: DayTask) => Promise<DayResult>): Promise<DayResult> {
    const key = createHash('sha256')
      .update(JSON.stringify([task, flags.hours, flags.peak]))
      .digest('hex');
    const known = this.results.get(key);
    if (known !== undefined) return known;
    const result = await run(task);
    appendFileSync(this.file, `${JSON.stringify({ key, result })}\n`);
    return result;
  }
}

/** What ours should not suffer on one kind of day. */
function failuresOf({ traffic: name, strategies }: TrafficOutcome): readonly string[] {
  const figures = strategies.map((strategy) => ({
    name: strategy.name,
    cost: costRange(strategy.days).median,
    misses: median(strategy.days.map(missRate)),
  }));
  const ours = figures.find((each) => each.name === 'kvasir')!;
  const others = figures.filter((each) => each !== ours);
  return [
    ...(ours.misses > MISS_BAR ? [`${name}: kvasir misses ${(100 * ours.misses).toFixed(2)} % on the median`] : []),
    ...others
      .filter(({ cost, misses }) => cost <= ours.cost && misses <= ours.misses)
      .map((other) => `${name}: ${other.name} costs no more than kvasir and misses no more`),
    ...others
      .filter(({ cost, misses }) => misses <= MISS_BAR && cost <= ours.cost)
      .map((other) => `${name}: ${other.name} keeps the bar for no more than kvasir`),
  ];
}

async function main(): Promise<void> {
  const workers = new Workers(Number(flags.jobs));
  const finished = flags.resume === undefined ? undefined : new FinishedDays(flags.resume);
  const outcomes = await simulateAutoscaling({
    ...traffic,
    service,
    traffics: flags.traffic.split(',') as TrafficName[],
    seed: Number(flags.seed),
    trainingDays: Number(flags['training-days']),
    heldOutDays: Number(flags.days),
    run: (task) => (finished === undefined ? workers.run(task) : finished.get(task, (each) => workers.run(each))),
    onProgress: ({ traffic: name, what, runs }) => process.stderr.write(`${name}: ${runs} days, the last by ${what}\n`),
  }).finally(() => workers.end());
  for (const line of outcomeTable(outcomes)) process.stdout.write(`${line}\n`);
  if (flags.json !== undefined) writeFileSync(flags.json, JSON.stringify(outcomes.map(outcomeDocument), null, 2));
  const failures = outcomes.flatMap(failuresOf);
  for (const failure of failures) process.stdout.write(`failed: ${failure}\n`);
  if (failures.length === 0)
    process.stdout.write(
      `kvasir is the cheapest within ${100 * MISS_BAR} % misses, and nobody does better, on ${flags.traffic}\n`,
    );
  process.exitCode = failures.length > 0 ? 1 : 0;
}

if (flags.worker) work();
else void main();
