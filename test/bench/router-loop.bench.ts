/**
 * How long the router's event loop is held up under load by each fault of the fault suite: of engines, of clients, of Redis, of who issues
 * tokens, of a sibling router, and at SIGTERM under 500 streams; and for comparison by none. Fails when the 99th percentile of the delay is
 * above 5 ms for any, or a client lost an answer without being told.
 *
 * Run:   npx tsx test/bench/router-loop.bench.ts [--seconds 6] [--clients 24] [--max-p99 5] [--only "Redis is gone"]
 * Needs: Linux with two CPUs, both at rest: what else runs on the router's CPU is part of every delay. redis-server.
 * Takes: about four minutes.
 *
 * The router runs as its image does, on a CPU of its own; four engines of the fault suite and the clients, half of whose answers stream,
 * share the other; clients are as many as in the fault suite. The delay is what the router's own metric says for the time of the fault, without the 10 ms between samples; at SIGTERM,
 * what a probe in its process says at the end. `--only` takes the beginning of names; of faults that go on from each other all are run.
 */
import { writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { KubeObject } from '../../src/api/meta';
import { ANSWER_TOKENS, FaultEngine } from '../helpers/fault-engine';
import { verdictOf } from '../helpers/fault-invariants';
import { askNumbered, type ClientEnd, FaultLoad } from '../helpers/fault-load';
import { parseFamilies, seriesValue } from '../helpers/prometheus-text';
import { BenchProcesses, joinLoadCpu, requirePrograms } from './rig/bench-processes';
import { bundled, type RunningBenchRouter, startBenchRouter } from './rig/bench-router';
import { DependentRouter } from './rig/loop-dependencies';
import { firstPod, LOOP_FAULTS, type LoopFault, type LoopObjects, loopObjects } from './rig/loop-faults';
import { type ProbedDelay, SAMPLE_MS } from './rig/loop-probe';
import { runBench } from './rig/run-bench';

/** Requests before anything is measured: Node's compilers work on the same CPU. */
const WARMUP_REQUESTS = 20_000;
/** Share of the time before the fault begins. */
const BEFORE = 0.25;
const STREAMS = 500;
const ENGINES = 4;

/** The delay since it was last asked for. */
async function loopDelay(metricsPort: number): Promise<ProbedDelay> {
  const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const families = parseFamilies(page);
  const delayMs = (name: string): number =>
    Math.max(0, 1000 * seriesValue(families, `nodejs_eventloop_lag_${name}_seconds`) - SAMPLE_MS);
  return { p50Ms: delayMs('p50'), p99Ms: delayMs('p99') };
}

interface Setting {
  readonly engines: FaultEngine[];
  readonly clients: number;
  readonly durationMs: number;
  readonly mostMs: number;
  readonly isWanted: (name: string) => boolean;
}

/** Prints a row. @returns whether it holds. */
function report(name: string, { p50Ms, p99Ms }: ProbedDelay, ends: readonly ClientEnd[], mostMs: number): boolean {
  const verdicts = ends.map(verdictOf);
  const [lost, told] = (['lost', 'told'] as const).map((each) => verdicts.filter(({ kind }) => kind === each).length);
  const isLate = p99Ms > mostMs;
  process.stdout.write(
    `${name.padEnd(34)} ${String(ends.length).padStart(6)} requests, ${String(told).padStart(4)} told of it, ${lost} lost; ` +
      `event-loop delay p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms (at most ${mostMs})${isLate ? '  MISSED' : ''}\n`,
  );
  return !isLate && lost === 0;
}

async function warm(
  router: RunningBenchRouter,
  clients: number,
  headersOf?: (number: number) => Record<string, string>,
): Promise<void> {
  const load = new FaultLoad({ port: router.port, clients, ...(headersOf === undefined ? {} : { headersOf }) });
  while (load.ends.length < WARMUP_REQUESTS) await wait(100);
  await load.stop();
}

/** Puts a healthy engine in the place of the first one, and lets the others be as they were. */
async function heal(engines: FaultEngine[]): Promise<void> {
  const { port } = engines[0]!;
  engines[0] = new FaultEngine(0);
  await engines[0].start(port);
  for (const engine of engines) {
    engine.answer = (request, response) => engine.serve(request, response);
    engine.metricsAnswer = undefined;
  }
}

interface Rows {
  readonly faults: Readonly<Record<string, LoopFault>>;
  readonly router: RunningBenchRouter;
  readonly route?: LoopObjects['route'];
  readonly headersOf?: (number: number) => Record<string, string>;
}

async function measure({ faults, router, route = {}, headersOf }: Rows, setting: Setting): Promise<boolean> {
  const { engines, clients, durationMs, mostMs, isWanted } = setting;
  let isGood = true;
  for (const [row, [name, begin]] of Object.entries(faults).entries()) {
    const replaceFirst = (first: KubeObject): void => writeFileSync(router.objectsFile, loopObjects({ engines, route, first }));
    const first = firstPod(engines, row + 1);
    replaceFirst(first);
    const load = new FaultLoad({ port: router.port, clients, ...(headersOf === undefined ? {} : { headersOf }) });
    await wait(durationMs * BEFORE);
    await loopDelay(router.metricsPort);
    const over = new AbortController();
    const going = begin({ router, engines, first, replaceFirst }, over.signal);
    await wait(durationMs * (1 - BEFORE));
    const delay = await loopDelay(router.metricsPort);
    over.abort();
    await going;
    // What it holds has to end before the load can.
    await engines[0]!.kill();
    const ends = await load.stop();
    await heal(engines);
    if (isWanted(name)) isGood = report(name, delay, ends, mostMs) && isGood;
  }
  return isGood;
}

/** SIGTERM under streams of which a quarter never ends by itself. */
async function measureEnd(processes: BenchProcesses, { engines, clients, mostMs }: Setting): Promise<boolean> {
  const router = await startBenchRouter(processes, {
    objects: loopObjects({ engines, first: firstPod(engines, 0) }),
    config: { drain: { announceMs: 100, timeoutMs: 1_500 } },
    nodeFlags: ['--require', bundled(processes, 'test/bench/rig/loop-probe.ts')],
  });
  await warm(router, clients);
  const ended = new Promise<ProbedDelay>((resolve, reject) => {
    let said = '';
    router.child.stdout?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-10_000);
    });
    router.child.once('close', () => {
      const match = /LOOP (\{.*\})/.exec(said);
      if (match === null) reject(new Error('the router said nothing of its loop'));
      else resolve(JSON.parse(match[1]!) as ProbedDelay);
    });
  });
  const finish: (() => void)[] = [];
  for (const [index, engine] of engines.entries()) {
    engine.answer = (request, response) =>
      engine.stream(request, response, ANSWER_TOKENS, () => {
        if (index !== 0) finish.push(() => response.end('data: [DONE]\n\n'));
      });
  }
  const asked = Array.from({ length: STREAMS }, (_, number) => askNumbered({ port: router.port }, 2 * number));
  for (let active = 0; active < STREAMS; active = engines.reduce((sum, engine) => sum + engine.active, 0)) await wait(20);
  router.child.kill('SIGTERM');
  await wait(500);
  for (const end of finish) {
    end();
    await wait(1);
  }
  const ends = await Promise.all(asked);
  return report(`SIGTERM under ${STREAMS} streams`, await ended, ends, mostMs);
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '6' },
      clients: { type: 'string', default: '24' },
      'max-p99': { type: 'string', default: '5' },
      only: { type: 'string', default: '' },
    },
  });
  requirePrograms({ 'redis-server': 'redis-server' });
  joinLoadCpu();
  const processes = new BenchProcesses();
  const engines = Array.from({ length: ENGINES }, (_, index) => new FaultEngine(index));
  const setting: Setting = {
    engines,
    clients: Number(values.clients),
    durationMs: 1000 * Number(values.seconds),
    mostMs: Number(values['max-p99']),
    isWanted: (name) => name.startsWith(values.only),
  };
  let dependent: DependentRouter | undefined;
  let isGood = true;
  try {
    for (const engine of engines) await engine.start();
    const wanted = Object.fromEntries(Object.entries(LOOP_FAULTS).filter(([name]) => setting.isWanted(name)));
    if (Object.keys(wanted).length > 0) {
      const router = await startBenchRouter(processes, { objects: loopObjects({ engines, first: firstPod(engines, 0) }) });
      await warm(router, setting.clients);
      isGood = await measure({ faults: wanted, router }, setting);
      await processes.end(router.child);
    }
    dependent = await DependentRouter.start(processes, engines);
    if (Object.keys(dependent.faults).some(setting.isWanted)) {
      await warm(dependent.router, setting.clients, dependent.headersOf);
      isGood = (await measure(dependent, setting)) && isGood;
    }
    await processes.end(dependent.router.child);
    if (setting.isWanted('SIGTERM')) isGood = (await measureEnd(processes, setting)) && isGood;
    return isGood;
  } finally {
    for (const engine of engines) await engine.kill();
    processes.close();
    await dependent?.close();
  }
}

runBench(main);
