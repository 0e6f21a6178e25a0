/**
 * Whether the router decides better than its rivals: replays in virtual time of public workloads, with the same index, ledger and scrapes
 * for everyone. Prints a table for each and ends with 1 when a bar is missed.
 *
 * - Both Mooncake traces over 8 pods at 70 to 85 % of what they can take, over several seeds: time to first token of `expected-latency`,
 *   mean and p90, never more than 1 % above any rival's and at least 10 % below that of all but the additive ones; time between tokens
 *   (p90) and end-to-end time (mean) at most 1.05 × the best of all. A run takes under
 *   20 s of CPU time.
 * - The workload that Kthena published, over three pods calibrated to its published throughput: at least 2.7 × the requests per second
 *   of `random`, and a time to first token at least 73 % lower.
 * - Both traces through four routers that tell each other what they send where, 5 and 50 ms late: mean time to first token within 15 % of
 *   one router that sees all. Printed beside it: four that tell each other nothing, and all of that with the trace's rounded arrivals, where
 *   several routers decide at the same instant.
 *
 * Run: npx tsx test/bench/replay.bench.ts [--seeds 5] [--only mooncake|kthena|replicas]
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FixedFleet, type FleetOptions } from '../../runtime/cli/replay/fixed-fleet';
import { policiesNamed } from '../../runtime/cli/replay/policies/policy-named';
import type { PolicyResult } from '../../runtime/cli/replay/policy-result';
import { replayPolicies } from '../../runtime/cli/replay/replay-policies';
import { replayTable } from '../../runtime/cli/replay/replay-table';
import { readTrace } from '../../runtime/cli/replay/workload/read-trace';
import { traceWorkload } from '../../runtime/cli/replay/workload/trace-workload';
import type { Workload } from '../../runtime/cli/replay/workload/workload';
import { seededRandom } from '../../runtime/lib/random';
import { KTHENA_FLEET, KTHENA_KV_SWEEP, kthenaWorkload, MOONCAKE_FLEET, PUBLISHED } from '../helpers/replay-fleets';

const TRACES = ['conversation', 'synthetic'] as const;
const OURS = 'expected-latency';
const RIVALS = [
  'random',
  'round-robin',
  'least-request',
  'least-connections',
  'kthena-default',
  'prefix-first',
  'sgl-thresholds',
  'llmd-weights',
  'dynamo-cost',
];
/** Rivals whose rule is a sum of work as well. */
const ADDITIVE = ['dynamo-cost'];
const MOST_SECONDS_PER_RUN = 20;

const failures: string[] = [];
const print = (line: string): boolean => process.stdout.write(`${line}\n`);

function check(isGood: boolean, what: string): void {
  if (isGood) return;
  failures.push(what);
}

async function timed(
  policy: string,
  workload: Workload,
  fleet: FleetOptions,
  seed: number,
): Promise<{ readonly result: PolicyResult; readonly seconds: number }> {
  const before = process.cpuUsage();
  const [result] = await replayPolicies({ policies: policiesNamed(policy), workload, fleet, seed });
  const { user, system } = process.cpuUsage(before);
  return { result: result!, seconds: (user + system) / 1e6 };
}

/** Mean of the same figures over several results. */
function mean(results: readonly PolicyResult[]): PolicyResult {
  const average = (values: readonly unknown[]): unknown => {
    const [first] = values;
    if (typeof first === 'number') return values.reduce<number>((sum, value) => sum + (value as number), 0) / values.length;
    if (typeof first !== 'object' || first === null) return first;
    return Object.fromEntries(
      Object.keys(first).map((key) => [key, average(values.map((value) => (value as Record<string, unknown>)[key]))]),
    );
  };
  return average(results) as PolicyResult;
}

async function mooncake(trace: (typeof TRACES)[number], seeds: number): Promise<void> {
  const requests = readTrace(join(__dirname, `../fixtures/traces/mooncake-${trace}.jsonl.gz`));
  const durationSeconds = (requests.at(-1)!.atMs - requests[0]!.atMs) / 1000;
  const saturated = traceWorkload(requests, { speed: 1e6, concurrency: 256 });
  const capacity = (await timed('least-connections', saturated, MOONCAKE_FLEET, 1)).result.requestsPerSecond;
  const load = requests.length / durationSeconds / capacity;
  print(`\n${trace}: ${requests.length} requests over ${MOONCAKE_FLEET.replicas} pods, ${seeds} seeds`);
  print(
    `fewest requests first finishes ${capacity.toFixed(2)} requests/s when all are there: the trace is ${(100 * load).toFixed(0)} % of that`,
  );
  check(load >= 0.7 && load <= 0.85, `${trace}: load ${load.toFixed(2)} is not within 0.70 and 0.85`);

  const bySeed = new Map<string, PolicyResult[]>();
  let slowest = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const workload = traceWorkload(requests, { jitter: seededRandom(seed) });
    for (const policy of [OURS, ...RIVALS]) {
      const { result, seconds } = await timed(policy, workload, MOONCAKE_FLEET, seed);
      bySeed.set(policy, [...(bySeed.get(policy) ?? []), result]);
      slowest = Math.max(slowest, seconds);
    }
  }
  for (const line of replayTable([...bySeed.values()].map(mean))) print(line);
  print(`slowest run: ${slowest.toFixed(1)} s of CPU time`);
  check(slowest < MOST_SECONDS_PER_RUN, `${trace}: a run took ${slowest.toFixed(1)} s of CPU time`);

  const worst = new Map<string, number>();
  const note = (what: string, ratio: number): void => {
    worst.set(what, Math.max(worst.get(what) ?? 0, ratio));
  };
  for (let i = 0; i < seeds; i++) {
    const own = bySeed.get(OURS)![i]!;
    const rivals = RIVALS.map((policy) => bySeed.get(policy)![i]!);
    const seed = `${trace}, seed ${i + 1}`;
    check(own.errors === 0, `${seed}: ${own.errors} errors`);
    for (const rival of rivals) {
      for (const figure of ['mean', 'p90'] as const) {
        const ratio = own.ttftMs[figure] / rival.ttftMs[figure];
        note(`TTFT ${figure} ÷ ${rival.name}`, ratio);
        check(ratio <= 1.01, `${seed}: TTFT ${figure} is ${ratio.toFixed(3)} × that of ${rival.name}`);
        if (!ADDITIVE.includes(rival.name)) {
          check(ratio <= 0.9, `${seed}: TTFT ${figure} is ${ratio.toFixed(3)} × that of ${rival.name}, not 10 % lower`);
        }
      }
    }
    const itl = own.itlMs.p90 / Math.min(...rivals.map(({ itlMs }) => itlMs.p90));
    note('ITL p90 ÷ best', itl);
    check(itl <= 1.05, `${seed}: ITL p90 is ${itl.toFixed(3)} × the best`);
    const e2e = own.e2eMs.mean / Math.min(...rivals.map(({ e2eMs }) => e2eMs.mean));
    note('E2E mean ÷ best', e2e);
    check(e2e <= 1.05, `${seed}: E2E mean is ${e2e.toFixed(3)} × the best`);
  }
  print(`worst of the seeds, ${OURS}: ${[...worst].map(([what, ratio]) => `${what} ${ratio.toFixed(3)}`).join(', ')}`);
}

async function kthena(): Promise<void> {
  const workload = kthenaWorkload(1);
  const policies = policiesNamed(`random,scraped-least-request,least-request,kthena-default,sgl-thresholds,dynamo-cost,${OURS}`);
  for (const factor of KTHENA_KV_SWEEP) {
    const fleet = { ...KTHENA_FLEET, kvTokens: Math.round(factor * KTHENA_FLEET.kvTokens) };
    const { facts } = new FixedFleet(fleet);
    print(
      `\nKthena's workload, ${factor} × KV: ${facts.kvTokens} KV tokens and ${Math.round(facts.prefillTokensPerSecond)} prompt tokens/s per pod`,
    );
    const results = await replayPolicies({ policies, workload, fleet, seed: 1 });
    for (const line of replayTable(results)) print(line);
    const of = (name: string): PolicyResult => results.find((result) => result.name === name)!;
    const [random, ours] = [of('random'), of(OURS)];
    const gain = ours.requestsPerSecond / random.requestsPerSecond;
    const saved = 1 - ours.ttftMs.mean / random.ttftMs.mean;
    print(`${OURS}: ${gain.toFixed(2)} × the requests/s of random, TTFT ${(100 * saved).toFixed(0)} % lower`);
    if (factor !== 1) continue;
    for (const [policy, published] of Object.entries(PUBLISHED)) {
      const { requestsPerSecond } = of(policy);
      const off = requestsPerSecond / published - 1;
      print(`${policy}: ${requestsPerSecond.toFixed(2)} requests/s, published ${published}`);
      check(Math.abs(off) <= 0.15, `${policy}: ${requestsPerSecond.toFixed(2)} requests/s is not within 15 % of ${published}`);
    }
    check(gain >= 2.7, `throughput is ${gain.toFixed(2)} × that of random, not 2.7`);
    check(saved >= 0.73, `TTFT is ${(100 * saved).toFixed(0)} % lower than that of random, not 73 %`);
  }
}

const DELAYS_MS = [5, 50];

/** One router, four that know nothing of each other, and four that do. */
async function replicas(trace: (typeof TRACES)[number], seeds: number): Promise<void> {
  const requests = readTrace(join(__dirname, `../fixtures/traces/mooncake-${trace}.jsonl.gz`));
  const rows: readonly { readonly name: string; readonly routers: number; readonly replicationDelayMs?: number }[] = [
    { name: '1 router', routers: 1 },
    { name: '4 routers', routers: 4 },
    ...DELAYS_MS.map((delayMs) => ({ name: `4, ${delayMs} ms`, routers: 4, replicationDelayMs: delayMs })),
  ];
  const run = async (workload: Workload, seed: number): Promise<readonly PolicyResult[]> => {
    const results: PolicyResult[] = [];
    for (const { name, ...routers } of rows) {
      const policies = policiesNamed(OURS);
      const [result] = await replayPolicies({ policies, workload, fleet: MOONCAKE_FLEET, seed, ...routers });
      results.push({ ...result!, name });
    }
    return results;
  };
  const bySeed: (readonly PolicyResult[])[] = [];
  for (let seed = 1; seed <= seeds; seed++) {
    const results = await run(traceWorkload(requests, { jitter: seededRandom(seed) }), seed);
    bySeed.push(results);
    for (const { name, ttftMs } of results.slice(2)) {
      const ratio = ttftMs.mean / results[0]!.ttftMs.mean;
      check(ratio <= 1.15, `${trace}, seed ${seed}: TTFT through ${name} is ${ratio.toFixed(3)} × that through one router`);
    }
  }
  print(`\n${trace}, arrivals spread over their slot, ${seeds} seeds`);
  for (const line of replayTable(rows.map((_, i) => mean(bySeed.map((results) => results[i]!))))) print(line);
  print(`${trace}, arrivals as the trace rounds them`);
  for (const line of replayTable(await run(traceWorkload(requests, {}), 1))) print(line);
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { seeds: { type: 'string', default: '5' }, only: { type: 'string' } } });
  const { only, seeds } = values;
  if (only === undefined || only === 'kthena') await kthena();
  for (const trace of TRACES) {
    if (only === undefined || only === 'mooncake') await mooncake(trace, Number(seeds));
    if (only === undefined || only === 'replicas') await replicas(trace, Number(seeds));
  }
  for (const failure of failures) print(`FAILED: ${failure}`);
  if (failures.length > 0) process.exitCode = 1;
}

void main();
