/**
 * What open streams cost the router, as it is without a configuration file, against nginx proxying the same without logs: CPU time per chunk
 * of 200 streams with one SSE chunk each 20 ms, and resident memory above idle with 1,000 open streams. Fails above 2.2 times nginx's CPU
 * time, or 120 MB.
 *
 * Run:   npx tsx test/bench/router-streams.bench.ts [--streams 200] [--pace 20] [--seconds 5] [--rounds 3] [--warmup 150000]
 *        [--open 1000] [--hold 10]
 * Needs: Linux with two CPUs; `nginx` and `wrk` (Debian: apt-get install nginx-light wrk).
 * Takes: about two minutes.
 *
 * The proxy has one CPU; clients and engine share another. CPU time is user plus system time of all threads from /proc/PID/stat, by turns,
 * medians compared; `--warmup` counts chunks through each proxy. Memory is of a router that was not used before, at its highest within
 * `--hold` seconds of 1,000 streams with five chunks a second each; idle is what that router has two seconds after its start. Beside it
 * stands the same after 20,000 short requests, when Node's young generation has its full size.
 */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type RunningProxy, startNginx } from './rig/bench-nginx';
import { BenchProcesses, joinLoadCpu, LOAD_CPU, portOf, ROOT, requirePrograms, residentMegabytes } from './rig/bench-processes';
import { engineObjects, startBenchRouter } from './rig/bench-router';
import { compareCpu, comparedLine } from './rig/cpu-rounds';
import { chatBody, warmUp, wrkLoad } from './rig/http-load';
import { runBench } from './rig/run-bench';
import { StreamClients } from './rig/stream-clients';

const MOST_CHUNK_RATIO = 2.2;
const MOST_MEGABYTES = 120;
const OPEN_PACE_MS = 200;
/** Pods behind the router where many streams are open: it gives none of them more than 256. */
const PODS = 8;
const MOST_WARMUP_SECONDS = 60;
const UIDS = Array.from({ length: PODS }, (_, index) => `engine-${index}`);

const failures: string[] = [];
const print = (line: string): boolean => process.stdout.write(`${line}\n`);

interface ChunkOptions {
  readonly streams: number;
  readonly paceMs: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly warmup: number;
}

async function chunks(nginx: RunningProxy, router: RunningProxy, options: ChunkOptions): Promise<void> {
  const { streams, paceMs, seconds, rounds, warmup } = options;
  const warmupSeconds = Math.min(MOST_WARMUP_SECONDS, warmup / ((streams * 1000) / paceMs));
  for (const { port } of [nginx, router]) {
    const clients = await StreamClients.open(port, streams, paceMs);
    await clients.count(warmupSeconds);
    clients.close();
  }
  const compared = await compareStreams({ nginx, router }, streams, paceMs, seconds, rounds);
  print(comparedLine(`chunk, ${streams} × ${paceMs} ms`, compared, MOST_CHUNK_RATIO));
  if (compared.ratio > MOST_CHUNK_RATIO) failures.push(`a chunk takes ${compared.ratio.toFixed(2)} times nginx's CPU time`);
}

async function compareStreams(
  proxies: { readonly nginx: RunningProxy; readonly router: RunningProxy },
  streams: number,
  paceMs: number,
  seconds: number,
  rounds: number,
): ReturnType<typeof compareCpu> {
  const open = new Map<RunningProxy, StreamClients>();
  return compareCpu(proxies, rounds, {
    before: async (proxy) => void open.set(proxy, await StreamClients.open(proxy.port, streams, paceMs)),
    run: (proxy) => open.get(proxy)!.count(seconds),
    after: async (proxy) => {
      open.get(proxy)!.close();
      // Until both sides have seen it.
      await wait(300);
    },
  });
}

/** Highest resident memory with so many open streams, in MB. */
async function withStreams({ port, pid }: RunningProxy, count: number, seconds: number): Promise<number> {
  const clients = await StreamClients.open(port, count, OPEN_PACE_MS);
  let most = 0;
  for (let second = 0; second < seconds; second++) {
    await clients.count(1);
    most = Math.max(most, residentMegabytes(pid));
  }
  clients.close();
  await wait(1000);
  return most;
}

async function memory(processes: BenchProcesses, enginePort: number, count: number, seconds: number): Promise<void> {
  const router = await startBenchRouter(processes, { objects: engineObjects(enginePort, UIDS) });
  const nginx = await startNginx(processes, enginePort);
  await wait(2000);
  const idle = { nginx: residentMegabytes(nginx.pid), router: residentMegabytes(router.pid) };
  const most = { nginx: await withStreams(nginx, count, seconds), router: await withStreams(router, count, seconds) };
  const above = most.router - idle.router;
  print(
    `memory, ${count} streams    nginx ${idle.nginx.toFixed(0)} MB idle, +${(most.nginx - idle.nginx).toFixed(0)} MB   ` +
      `router ${idle.router.toFixed(0)} MB idle, +${above.toFixed(0)} MB (at most ${MOST_MEGABYTES})${above > MOST_MEGABYTES ? '  MISSED' : ''}`,
  );
  if (above > MOST_MEGABYTES) failures.push(`${count} open streams take ${above.toFixed(0)} MB`);
  await warmUp(wrkLoad(join(processes.folder, 'short'), 'http', chatBody(1024), 64), router.port, 20_000, MOST_WARMUP_SECONDS);
  await wait(2000);
  const warm = residentMegabytes(router.pid);
  const warmMost = await withStreams(router, count, seconds);
  print(`  after short requests  router ${warm.toFixed(0)} MB idle, +${(warmMost - warm).toFixed(0)} MB`);
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      streams: { type: 'string', default: '200' },
      pace: { type: 'string', default: '20' },
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '3' },
      warmup: { type: 'string', default: '150000' },
      open: { type: 'string', default: '1000' },
      hold: { type: 'string', default: '10' },
    },
  });
  requirePrograms({ nginx: 'nginx-light', wrk: 'wrk' });
  joinLoadCpu();
  const processes = new BenchProcesses();
  try {
    const engine = processes.startTypeScript(LOAD_CPU, join(ROOT, 'test/bench/rig/instant-engine.ts'), [String(PODS)]);
    const enginePort = await portOf(engine, /PORT (\d+)/);
    const nginx = await startNginx(processes, enginePort);
    const router = await startBenchRouter(processes, { objects: engineObjects(enginePort) });
    await chunks(nginx, router, {
      streams: Number(values.streams),
      paceMs: Number(values.pace),
      seconds: Number(values.seconds),
      rounds: Number(values.rounds),
      warmup: Number(values.warmup),
    });
    await processes.end(nginx.child);
    await processes.end(router.child);
    await memory(processes, enginePort, Number(values.open), Number(values.hold));
    for (const failure of failures) print(`FAILED: ${failure}`);
    return failures.length === 0;
  } finally {
    processes.close();
  }
}

runBench(main);
