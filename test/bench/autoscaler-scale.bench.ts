/**
 * The autoscaler over many policies and pods: 500 policies of ten pods each, whose 5,000 pages of metrics are served by one process on as many
 * loopback addresses, recorded from vLLM (83 KB) with values that change. Fails when a round's scraping takes more than two seconds, when
 * the event loop is late by more than 100 ms at the 99th percentile of a round, when the process has more than 350 MiB, and when anything is written
 * for a policy whose load did not change.
 *
 * Run:   npx tsx test/bench/autoscaler-scale.bench.ts [--policies 500] [--pods 10] [--rounds 5] [--period 4000]
 * Needs: Linux with two CPUs.
 * Takes: less than a minute.
 *
 * The autoscaler has one CPU, bundled and with the flags of its image; the exporter has the other. Rounds are `--period` ms apart and windows are four
 * rounds long, as they are by default. Rounds are measured when windows are full. Six policies of ten read running requests, two a
 * histogram besides, one a counter, and one asks for latency, so that capacity is learned of its pods. Scraping is from the first request to the end of
 * the last answer, as the exporter sees it; it goes on while pages are read. Memory is resident memory at its highest between rounds.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BenchProcesses, LOAD_CPU, PROXY_CPU, portOf, ROOT, residentMegabytes } from './rig/bench-processes';
import { bundled, imageNodeFlags } from './rig/bench-router';
import { median } from './rig/cpu-rounds';
import type { ExportedPages, SetRunning } from './rig/metrics-exporter';
import { runBench } from './rig/run-bench';
import type { ScaledRound } from './rig/scale-autoscaler';
import { policyName, scaleObjects } from './rig/scale-objects';

const MOST_SCRAPING_MS = 2000;
const MOST_DELAY_MS = 100;
const MOST_MEGABYTES = 350;
/** A window is four rounds; one more is there to compare it with. */
const ROUNDS_PER_WINDOW = 4;
const WARM_UP_ROUNDS = ROUNDS_PER_WINDOW + 2;
/** Policies whose load doubles, and rounds in which that shows. */
const CHANGED = 25;
const CHANGED_ROUNDS = 2;
const PAGE = join(ROOT, 'test/fixtures/engines/vllm-0.32.0/http/metrics_load.resp.http');

interface Measured extends ScaledRound {
  readonly exported: ExportedPages;
  readonly megabytes: number;
}

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

async function message<T>(child: ChildProcess): Promise<T> {
  const [value] = (await once(child, 'message')) as [T];
  return value;
}

async function nextRound(autoscaler: ChildProcess, exporter: ChildProcess): Promise<Measured> {
  const round = await message<ScaledRound>(autoscaler);
  exporter.send('read');
  const exported = await message<ExportedPages>(exporter);
  return { ...round, exported, megabytes: residentMegabytes(autoscaler.pid!) };
}

const HEAD =
  'round   scraping   decided      ended   CPU decided   CPU all   loop p99   loop max   memory      heap   connections   writes';

function row(what: string, round: Measured): string {
  const { exported, decidedMs, endedMs, decidedCpuMs, cpuMs, delayP99Ms, delayMaxMs, megabytes, heapMegabytes, writes } = round;
  const ms = (value: number, width: number): string => `${value.toFixed(0)} ms`.padStart(width);
  return [
    what.padStart(5),
    ms(exported.spanMs, 11),
    ms(decidedMs, 10),
    ms(endedMs, 11),
    ms(decidedCpuMs, 14),
    ms(cpuMs, 10),
    ms(delayP99Ms, 11),
    ms(delayMaxMs, 11),
    `${megabytes.toFixed(0)} MiB`.padStart(9),
    `${heapMegabytes.toFixed(0)} MiB`.padStart(10),
    String(exported.connections).padStart(14),
    String(writes.length).padStart(9),
  ].join('');
}

runBench(async () => {
  const { values } = parseArgs({
    options: {
      policies: { type: 'string', default: '500' },
      pods: { type: 'string', default: '10' },
      rounds: { type: 'string', default: '5' },
      period: { type: 'string', default: '4000' },
    },
  });
  const [policies, podsPerPolicy, rounds, period] = [values.policies, values.pods, values.rounds, values.period].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const processes = new BenchProcesses();
  const failures: string[] = [];
  try {
    const exporterFile = bundled(processes, 'test/bench/rig/metrics-exporter.ts');
    const exporter = processes.start(LOAD_CPU, process.execPath, [exporterFile, PAGE], { hasChannel: true });
    const port = await portOf(exporter, /PORT (\d+)/);
    const tokensPerSecond = Number(/^vllm:generation_tokens_total\{.*\} (.*)$/m.exec(readFileSync(PAGE, 'latin1'))![1]);
    const [objectsFile, configFile] = [join(processes.folder, 'objects.json'), join(processes.folder, 'config.json')];
    const items = scaleObjects({ policies, podsPerPolicy, port, tokensPerSecond });
    writeFileSync(objectsFile, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    writeFileSync(configFile, JSON.stringify({ syncPeriodMs: period, metricWindowMs: ROUNDS_PER_WINDOW * period }));
    const program = bundled(processes, 'test/bench/rig/scale-autoscaler.ts');
    const args = [...imageNodeFlags('autoscaler'), program, objectsFile, configFile];
    const autoscaler = processes.start(PROXY_CPU, process.execPath, args, { hasChannel: true });
    autoscaler.stderr?.pipe(process.stderr);
    await message(autoscaler);

    print(HEAD);
    const run = async (what: string, count: number): Promise<readonly Measured[]> => {
      const measured: Measured[] = [];
      for (let i = 0; i < count; i++) {
        const round = await nextRound(autoscaler, exporter);
        print(row(what, round));
        measured.push(round);
      }
      return measured;
    };
    await run('first', WARM_UP_ROUNDS);
    const steady = await run('same', rounds);
    exporter.send({ running: 20, from: 0, to: CHANGED * podsPerPolicy } satisfies SetRunning);
    const after = await run('more', CHANGED_ROUNDS);

    const all = [...steady, ...after];
    const pages = policies * podsPerPolicy;
    const scrapingMs = median(steady.map(({ exported }) => exported.spanMs));
    const delayMs = Math.max(...all.map(({ delayP99Ms }) => delayP99Ms));
    const megabytes = Math.max(...all.map((round) => round.megabytes));
    const idle = steady.flatMap(({ writes }) => writes);
    const names = new Set(Array.from({ length: CHANGED }, (_, policy) => policyName(policy)));
    const strangers = after.flatMap(({ writes }) => writes.filter(({ name }) => !names.has(name)));
    const scaled = new Set(after.flatMap(({ writes }) => writes.flatMap(({ what, name }) => (what === 'scale' ? [name] : []))));
    print(`pages of a round ${pages}, ${(all[0]!.exported.bytes / 2 ** 20).toFixed(0)} MiB`);
    print(`scraping, median ${scrapingMs.toFixed(0)} ms (at most ${MOST_SCRAPING_MS})`);
    print(`event loop, greatest p99 of a round ${delayMs.toFixed(0)} ms (at most ${MOST_DELAY_MS})`);
    print(`memory ${megabytes.toFixed(0)} MiB (at most ${MOST_MEGABYTES})`);
    print(
      `writes without a change ${idle.length}; ${CHANGED} policies changed: ${scaled.size} scaled, ${strangers.length} writes for others`,
    );
    if (all.some(({ exported }) => exported.pages !== pages)) failures.push('not every pod was asked once a round');
    if (scrapingMs > MOST_SCRAPING_MS) failures.push(`scraping takes ${scrapingMs.toFixed(0)} ms`);
    if (delayMs > MOST_DELAY_MS) failures.push(`the event loop is ${delayMs.toFixed(0)} ms late`);
    if (megabytes > MOST_MEGABYTES) failures.push(`it has ${megabytes.toFixed(0)} MiB`);
    if (idle.length > 0) failures.push(`${idle.length} writes without a change, such as ${JSON.stringify(idle[0])}`);
    if (strangers.length > 0) failures.push(`writes for policies that did not change, such as ${JSON.stringify(strangers[0])}`);
    if (scaled.size !== CHANGED) failures.push(`${scaled.size} of ${CHANGED} policies were scaled`);
  } finally {
    processes.close();
  }
  for (const failure of failures) print(`FAILED: ${failure}`);
  return failures.length === 0;
});
