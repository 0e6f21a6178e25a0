/**
 * CPU time per request of the router as it is without a configuration file (scheduling, prefix index, metrics and access log on), against
 * nginx proxying the same without logs: JSON bodies of 1 KB to 1 MiB over HTTP/1.1, and over TLS as HTTP/1.1 and as HTTP/2. Fails when a
 * ratio is above its bound; TLS rows have none.
 *
 * Run:   npx tsx test/bench/router-bodies.bench.ts [--seconds 4] [--rounds 3] [--warmup 150000] [--only 1024,16384,131072,1048576,tls,h2]
 * Needs: Linux with two CPUs; `nginx`, `wrk`, and for the HTTP/2 rows `h2load` (Debian: apt-get install nginx-light wrk nghttp2-client).
 * Takes: about five minutes; a quick look is --seconds 2 --rounds 1 --only 1024.
 *
 * The proxy has one CPU; load and an engine that answers at once share another. CPU time is user plus system time of all threads from
 * /proc/PID/stat. Rounds of both take turns, and medians are compared. Warm-up is counted in requests: compilers of Node go on for about
 * 100,000 of them. nginx keeps bodies in memory.
 */
import { join } from 'node:path';
import { connect } from 'node:tls';
import { parseArgs } from 'node:util';
import { tlsFixture } from '../helpers/http2-client';
import type { RunningProxy } from './rig/bench-nginx';
import { startNginx } from './rig/bench-nginx';
import { BenchProcesses, hasProgram, joinLoadCpu, LOAD_CPU, portOf, ROOT, requirePrograms } from './rig/bench-processes';
import { engineObjects, startBenchRouter } from './rig/bench-router';
import { compareCpu, comparedLine } from './rig/cpu-rounds';
import { chatBody, type HttpLoad, h2Load, warmUp, wrkLoad } from './rig/http-load';
import { runBench } from './rig/run-bench';

/** Body bytes → greatest ratio to nginx. */
const BOUNDS: Readonly<Record<number, number>> = { 1024: 3.2, 16384: 3.2, 131072: 4, 1048576: 4 };
const TLS_BODY_BYTES = [1024, 16_384];
/** Warm-up ends after this many bytes too: long bodies run the same code. */
const MOST_WARMUP_BYTES = 2 ** 32;
const MOST_WARMUP_SECONDS = 60;

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      warmup: { type: 'string', default: '150000' },
      only: { type: 'string' },
    },
  });
  requirePrograms({ nginx: 'nginx-light', wrk: 'wrk' });
  joinLoadCpu();
  const isWanted = (row: string): boolean => values.only === undefined || values.only.split(',').includes(row);
  const processes = new BenchProcesses();
  const failures: string[] = [];
  const print = (line: string): boolean => process.stdout.write(`${line}\n`);
  const row = async (what: string, load: HttpLoad, nginx: RunningProxy, router: RunningProxy, bytes: number): Promise<void> => {
    const requests = Math.min(Number(values.warmup), MOST_WARMUP_BYTES / bytes);
    for (const { port } of [nginx, router]) await warmUp(load, port, requests, MOST_WARMUP_SECONDS);
    const compared = await compareCpu({ nginx, router }, Number(values.rounds), {
      run: ({ port }) => load.run(port, Number(values.seconds)),
    });
    const most = what.startsWith('HTTP') ? BOUNDS[bytes] : undefined;
    print(comparedLine(what, compared, most));
    if (most !== undefined && compared.ratio > most) failures.push(`${what}: ${compared.ratio.toFixed(2)}`);
  };
  const kib = (bytes: number): string => `${bytes / 1024} KiB`;
  try {
    const engine = processes.startTypeScript(LOAD_CPU, join(ROOT, 'test/bench/rig/instant-engine.ts'), []);
    const enginePort = await portOf(engine, /PORT (\d+)/);
    const nginx = await startNginx(processes, enginePort);
    const objects = engineObjects(enginePort);
    const plain = await startBenchRouter(processes, { objects });
    for (const bytes of Object.keys(BOUNDS).map(Number)) {
      if (!isWanted(String(bytes))) continue;
      const connections = bytes > 2 ** 18 ? 16 : 64;
      await row(
        `HTTP/1.1, ${kib(bytes)}`,
        wrkLoad(join(processes.folder, `http-${bytes}`), 'http', chatBody(bytes), connections),
        nginx,
        plain,
        bytes,
      );
    }
    await processes.end(plain.child);

    if (isWanted('tls') || isWanted('h2')) {
      const config = { tls: { certFile: tlsFixture('server.pem'), keyFile: tlsFixture('server-key.pem') } };
      const router = await startBenchRouter(processes, { objects, config }).catch(() => undefined);
      const protocol = router === undefined ? undefined : await negotiated(router.port);
      const nginxTls = { ...nginx, port: nginx.tlsPort };
      if (router === undefined || protocol === undefined) print('TLS rows skipped: the router does not serve TLS');
      else {
        for (const bytes of TLS_BODY_BYTES) {
          const file = (name: string): string => join(processes.folder, `${name}-${bytes}`);
          if (isWanted('tls')) {
            await row(
              `TLS, HTTP/1.1, ${kib(bytes)}`,
              wrkLoad(file('tls'), 'https', chatBody(bytes), 64),
              nginxTls,
              router,
              bytes,
            );
          }
          if (!isWanted('h2')) continue;
          if (protocol !== 'h2') print(`TLS, HTTP/2, ${kib(bytes)} skipped: the router does not offer HTTP/2`);
          else if (!hasProgram('h2load')) print(`TLS, HTTP/2, ${kib(bytes)} skipped: no h2load (apt-get install nghttp2-client)`);
          else await row(`TLS, HTTP/2, ${kib(bytes)}`, h2Load(file('h2'), chatBody(bytes)), nginxTls, router, bytes);
        }
      }
    }
    for (const failure of failures) print(`FAILED: ${failure} times nginx's CPU time`);
    return failures.length === 0;
  } finally {
    processes.close();
  }
}

/** What a server chooses when it is offered HTTP/2 and HTTP/1.1 over TLS; undefined when it speaks no TLS. */
function negotiated(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', ALPNProtocols: ['h2', 'http/1.1'], rejectUnauthorized: false }, () => {
      resolve(typeof socket.alpnProtocol === 'string' ? socket.alpnProtocol : 'http/1.1');
      socket.destroy();
    });
    socket.on('error', () => resolve(undefined));
  });
}

runBench(main);
