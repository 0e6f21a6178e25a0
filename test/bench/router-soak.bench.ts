/**
 * Whether the router's memory stands still: minutes of mixed load (short, long and very long bodies, streams, clients that leave, unknown
 * models and paths, malformed bodies), while a pod is replaced every few seconds on the same address. After 0.4 of the time and at its end
 * load rests and garbage is collected: heap and external memory together must differ by less than 5 %.
 *
 * Run:   npx tsx test/bench/router-soak.bench.ts [--minutes 10] [--clients 32] [--pause 10] [--seed 1]
 * Needs: Linux. Takes: the minutes it is given.
 *
 * External memory holds the prefix index at its full size from the start, which hides what is small beside it: the heap's own change is
 * printed, and what both have grown by since before the load. Access log and metrics are on.
 */
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { seededRandom } from '../../runtime/lib/random';
import { BenchProcesses, joinLoadCpu, LOAD_CPU, portOf, ROOT } from './rig/bench-processes';
import { bundled, engineObjects, startBenchRouter } from './rig/bench-router';
import type { ProbedMemory } from './rig/memory-probe';
import { MixedLoad } from './rig/mixed-load';
import { runBench } from './rig/run-bench';

const MOST_CHANGE = 0.05;
const FIRST_LOOK = 0.4;
const REPLACE_MS = 5_000;
/** Until connections that clients left are gone. */
const REST_MS = 3_000;

const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`;

function probe(child: ChildProcess): Promise<ProbedMemory> {
  return new Promise((resolve, reject) => {
    child.once('message', (memory) => resolve(memory as ProbedMemory));
    child.once('exit', () => reject(new Error('the router ended')));
    child.send('probe');
  });
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      clients: { type: 'string', default: '32' },
      pause: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
    },
  });
  joinLoadCpu();
  const processes = new BenchProcesses();
  let replacing: NodeJS.Timeout | undefined;
  try {
    const engine = processes.startTypeScript(LOAD_CPU, join(ROOT, 'test/bench/rig/instant-engine.ts'), ['4']);
    const enginePort = await portOf(engine, /PORT (\d+)/);
    const uids = ['a', 'b', 'c', 'd'];
    const router = await startBenchRouter(processes, {
      objects: engineObjects(enginePort, uids),
      config: { accessLog: { format: 'json' } },
      nodeFlags: ['--expose-gc', '--require', bundled(processes, 'test/bench/rig/memory-probe.ts')],
      hasChannel: true,
    });
    const before = await probe(router.child);
    print(`before the load: heap ${megabytes(before.heapUsed)}, external ${megabytes(before.external)}`);
    let replaced = 0;
    replacing = setInterval(() => {
      uids[3] = `d-${++replaced}`;
      writeFileSync(router.objectsFile, engineObjects(enginePort, uids));
    }, REPLACE_MS);

    const load = new MixedLoad(router.port, seededRandom(Number(values.seed)), Number(values.clients), Number(values.pause));
    const look = async (minutes: number): Promise<ProbedMemory> => {
      load.start();
      await wait(minutes * 60_000);
      await load.stop();
      await wait(REST_MS);
      const memory = await probe(router.child);
      const { heapUsed, external, rss } = memory;
      const requests = Object.values(load.ended).reduce((sum, count) => sum + count, 0);
      print(
        `after ${requests} requests, ${replaced} pods replaced: heap ${megabytes(heapUsed)}, external ${megabytes(external)}, ` +
          `resident ${megabytes(rss)}; since before the load +${megabytes(heapUsed + external - before.heapUsed - before.external)}`,
      );
      return memory;
    };
    const minutes = Number(values.minutes);
    const first = await look(minutes * FIRST_LOOK);
    const last = await look(minutes * (1 - FIRST_LOOK));
    const change = (last.heapUsed + last.external) / (first.heapUsed + first.external) - 1;
    const heapChange = last.heapUsed / first.heapUsed - 1;
    print(
      `requests: ${Object.entries(load.ended)
        .map(([kind, count]) => `${kind} ${count}`)
        .join(', ')}`,
    );
    print(
      `heap and external memory changed by ${(100 * change).toFixed(1)} % (less than ${100 * MOST_CHANGE} %), ` +
        `the heap alone by ${(100 * heapChange).toFixed(1)} %`,
    );
    return Math.abs(change) < MOST_CHANGE;
  } finally {
    clearInterval(replacing);
    processes.close();
  }
}

runBench(main);
