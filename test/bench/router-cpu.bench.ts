/**
 * CPU time per request of the router, against nginx proxying the same: 1 KB JSON bodies, 64 connections, an engine that answers at
 * once. Fails when the router needs more than four times as much as nginx.
 *
 * Run:   npx tsx test/bench/router-cpu.bench.ts [--seconds 4] [--rounds 3] [--warmup 150000] [--max-ratio 4]
 * Needs: Linux, and `nginx` and `wrk` from the system's packages (Debian: apt-get install nginx-light wrk).
 *
 * Four processes: wrk (one thread), nginx (one process, keep-alive to the upstream, logs off) or the router (access log off), and the
 * engine (raw sockets). The proxy has one CPU, load and engine share another: else most of what is measured is the cost of waking an idle
 * CPU, which a slow proxy pays at each write and a fast one seldom. CPU time is user plus system time of nginx's or the router's process
 * from /proc/PID/stat, so a busy machine changes both alike; rounds alternate, and the medians are compared. Warm-up is counted in requests,
 * in loads of two seconds: what happens when clients leave is part of what Node's compilers have to see.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startNginx } from './rig/bench-nginx';
import { BenchProcesses, LOAD_CPU, portOf, ROOT, requirePrograms } from './rig/bench-processes';
import { engineObjects, startBenchRouter } from './rig/bench-router';
import { compareCpu, type Round } from './rig/cpu-rounds';
import { warmUp, wrkLoad } from './rig/http-load';
import { runBench } from './rig/run-bench';

const CONNECTIONS = 64;
const BODY_BYTES = 1024;
const MOST_WARMUP_SECONDS = 60;

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      warmup: { type: 'string', default: '150000' },
      'max-ratio': { type: 'string', default: '4' },
    },
  });
  requirePrograms({ nginx: 'nginx-light', wrk: 'wrk' });
  const processes = new BenchProcesses();
  try {
    const engine = processes.startTypeScript(LOAD_CPU, join(ROOT, 'test/bench/rig/instant-engine.ts'), []);
    const enginePort = await portOf(engine, /PORT (\d+)/);
    const padding = 'x'.repeat(BODY_BYTES - 80);
    const body = JSON.stringify({ model: 'm', max_tokens: 16, messages: [{ role: 'user', content: padding }] });
    const load = wrkLoad(join(processes.folder, 'post'), 'http', body, CONNECTIONS);
    const nginx = await startNginx(processes, enginePort);
    const config = { accessLog: { enabled: false } };
    const router = await startBenchRouter(processes, { objects: engineObjects(enginePort), config });
    for (const { port } of [nginx, router]) await warmUp(load, port, Number(values.warmup), MOST_WARMUP_SECONDS);
    const compared = await compareCpu({ nginx, router }, Number(values.rounds), {
      run: ({ port }) => load.run(port, Number(values.seconds)),
    });
    const print = (name: string, { cpuMicros, perSecond }: Round): boolean =>
      process.stdout.write(`${name.padEnd(7)} ${cpuMicros.toFixed(1)} µs CPU per request, ${perSecond.toFixed(0)} requests/s\n`);
    print('nginx:', compared.nginx);
    print('router:', compared.router);
    process.stdout.write(`ratio:  ${compared.ratio.toFixed(2)} (at most ${values['max-ratio']})\n`);
    return compared.ratio <= Number(values['max-ratio']);
  } finally {
    processes.close();
  }
}

runBench(main);
