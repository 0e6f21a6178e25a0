/**
 * How long the router's event loop is held up under load while an engine fails: killed, silent in the middle of its answers, accepting and
 * resetting, slow by twenty times, without the head of an answer, vanished with its machine, answering 429, 500 or 503, and for comparison
 * none. Fails when the 99th percentile of the delay is above 5 ms for any.
 *
 * Run:   npx tsx test/bench/router-loop.bench.ts [--seconds 6] [--clients 40] [--max-p99 5]
 * Needs: Linux with two CPUs, both at rest: what else runs on the router's CPU is part of every delay.
 * Takes: about two minutes.
 *
 * The router runs as its image does, on a CPU of its own; four engines of the fault suite and the clients, half of whose answers stream,
 * share the other. The delay is what the router's own metric says for the time of the fault, without the 10 ms between samples.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { FaultEngine } from '../helpers/fault-engine';
import { verdictOf } from '../helpers/fault-invariants';
import { FaultLoad } from '../helpers/fault-load';
import { parseFamilies, seriesValue } from '../helpers/prometheus-text';
import { modelRoute, modelServer, pod } from '../helpers/router-harness';
import { BenchProcesses, joinLoadCpu } from './rig/bench-processes';
import { startBenchRouter } from './rig/bench-router';
import { runBench } from './rig/run-bench';

/** Between Node's samples of the delay. */
const SAMPLE_MS = 10;
/** Requests before anything is measured: Node's compilers work on the same CPU. */
const WARMUP_REQUESTS = 20_000;
/** Share of the time before the fault begins. */
const BEFORE = 0.25;

const FAULTS: Readonly<Record<string, (engine: FaultEngine) => unknown>> = {
  none: () => undefined,
  killed: (engine) => engine.kill(),
  silent: (engine) => engine.stall(),
  'accepts and resets': (engine) => engine.acceptAndReset(),
  'slow by 20': (engine) => {
    engine.slowness = 20;
  },
  'without a head': (engine) => {
    engine.answer = () => undefined;
  },
  vanished: (engine) => engine.vanish(),
  'that says 429': (engine) => refuse(engine, 429),
  'that says 500': (engine) => refuse(engine, 500),
  'that says 503': (engine) => refuse(engine, 503),
};

function refuse(engine: FaultEngine, status: number): void {
  engine.answer = (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":{"message":"no","type":"x"}}');
}

interface LoopDelay {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The delay since it was last asked for. */
async function loopDelay(metricsPort: number): Promise<LoopDelay> {
  const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const families = parseFamilies(page);
  const delayMs = (name: string): number =>
    Math.max(0, 1000 * seriesValue(families, `nodejs_eventloop_lag_${name}_seconds`) - SAMPLE_MS);
  return { p50Ms: delayMs('p50'), p99Ms: delayMs('p99') };
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '6' },
      clients: { type: 'string', default: '40' },
      'max-p99': { type: 'string', default: '5' },
    },
  });
  joinLoadCpu();
  const processes = new BenchProcesses();
  const engines = [0, 1, 2, 3].map((index) => new FaultEngine(index));
  const durationMs = 1000 * Number(values.seconds);
  const mostMs = Number(values['max-p99']);
  let isGood = true;
  try {
    for (const engine of engines) await engine.start();
    const pods = engines.map(({ port }, index) => pod(`pod-${index}`, 'server', port));
    const objects = [modelServer('server'), modelRoute('route', 'server'), ...pods]
      .map((each) => JSON.stringify(each))
      .join('\n---\n');
    const router = await startBenchRouter(processes, { objects });
    const clients = Number(values.clients);
    const warmUp = new FaultLoad({ port: router.port, clients });
    while (warmUp.ends.length < WARMUP_REQUESTS) await wait(100);
    await warmUp.stop();
    for (const [name, fail] of Object.entries(FAULTS)) {
      const load = new FaultLoad({ port: router.port, clients });
      await wait(durationMs * BEFORE);
      await loopDelay(router.metricsPort);
      const failing = engines[0]!;
      await fail(failing);
      await wait(durationMs * (1 - BEFORE));
      const { p50Ms, p99Ms } = await loopDelay(router.metricsPort);
      const { port } = failing;
      await failing.kill();
      engines[0] = new FaultEngine(0);
      const ends = await load.stop();
      await engines[0].start(port);
      const lost = ends.map(verdictOf).filter(({ kind }) => kind === 'lost').length;
      const isLate = p99Ms > mostMs;
      isGood &&= !isLate && lost === 0;
      process.stdout.write(
        `an engine ${name.padEnd(18)} ${String(ends.length).padStart(6)} requests, ${lost} lost; ` +
          `event-loop delay p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms (at most ${mostMs})${isLate ? '  MISSED' : ''}\n`,
      );
    }
    return isGood;
  } finally {
    for (const engine of engines) await engine.kill();
    processes.close();
  }
}

runBench(main);
