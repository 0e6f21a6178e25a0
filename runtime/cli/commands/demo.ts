import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { formatAddress } from '../../lib/http-listen';
import { createLogger, silentLogger } from '../../lib/logger';
import { wallClock } from '../../lib/wall-clock';
import { type DemoSummary, DemoTally } from '../demo/demo-tally';
import { comparison, DEMO_WORKLOAD } from '../demo/demo-workload';
import { freePort } from '../free-port';
import { ChatClient } from '../load/chat-client';
import { driveChat } from '../load/drive-chat';
import { type Output, processOutput } from '../output';
import { parseSpeed } from '../parse-number';
import { curlOf, modelToAsk } from '../preview/curl';
import { type RunningPreview, startPreview } from '../preview/preview';
import { previewDocument } from '../preview/preview-document';
import { scaledLine } from '../preview/scaled-line';
import { watchPreview } from '../preview/watch-preview';
import { reportLine } from '../report-line';
import { runStack } from '../run-stack';
import { chatWorkload } from '../workload/chat-workload';

interface DemoFlags {
  readonly once?: true;
  readonly speed?: number;
  readonly json?: true;
  readonly verbose?: true;
}

const HOST = '127.0.0.1';
/** Fast enough that a visitor sees a scale-down, whose window is five minutes, before he leaves. */
const SPEED = 10;
/** Fast enough that one round, its scale-down included, is over in half a minute. */
const SPEED_ONCE = 20;
/** How long `--once` waits after the last answer for replicas to go down again, in the clock's milliseconds. */
const SCALE_DOWN_WAIT_MS = 480_000;

/** `kvasir demo`: the quickstart stack, synthesized, running, and under load. */
export function addDemoCommand(program: Command, interrupted: AbortSignal): void {
  program
    .command('demo')
    .description('synthesize examples/quickstart, run it on this machine and send it chat traffic')
    .option('--once', 'send one round of traffic, wait until replicas went down again, and end')
    .option('--speed <n>', `run n times faster (default: ${SPEED}, with --once ${SPEED_ONCE})`, parseSpeed)
    .option('--json', 'print one JSON document when it ends')
    .option('--verbose', 'log what the router and the autoscaler do')
    .action((flags: DemoFlags) => runDemo(flags, interrupted));
}

async function runDemo(flags: DemoFlags, interrupted: AbortSignal): Promise<void> {
  const output = processOutput({ json: flags.json === true });
  const speed = flags.speed ?? (flags.once ? SPEED_ONCE : SPEED);
  const folder = mkdtempSync(join(tmpdir(), 'kvasir-demo-'));
  try {
    output.line('synthesizing examples/quickstart …');
    await runStack(join(__dirname, '..', 'examples', 'quickstart', 'main.js'), folder);
    const preview = await startPreview({
      paths: [folder],
      listen: { host: HOST, port: await freePort(HOST) },
      metricsListen: { host: HOST, port: 0 },
      debugListen: { host: HOST, port: 0 },
      clock: wallClock(speed),
      seed: DEMO_WORKLOAD.seed,
      log: flags.verbose ? createLogger('demo') : silentLogger(),
      onFinding: (finding) => output.line(reportLine(finding)),
      onScaled: (scaled) => output.line(scaledLine(scaled)),
    });
    try {
      await playDemo(preview, flags, speed, output, interrupted);
    } finally {
      await preview.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function playDemo(
  preview: RunningPreview,
  flags: DemoFlags,
  speed: number,
  output: Output,
  interrupted: AbortSignal,
): Promise<void> {
  const model = modelToAsk(preview.cluster.objects);
  output.line(`running at ${speed} × real time, metrics at http://${formatAddress(preview.router.metricsAddress)}/metrics`);
  output.line('engines are simulated, and so is the text of their answers. Ask one in a second terminal:');
  output.line(curlOf(preview.router.address, model));
  if (!flags.once) output.line('Ctrl-C ends it.');

  const ended = new AbortController();
  const end = (): void => ended.abort();
  interrupted.addEventListener('abort', end, { once: true });
  const watching = watchPreview(preview, output, ended.signal);
  const client = new ChatClient(preview.clock, preview.router.address);
  const tally = new DemoTally();
  try {
    await preview.cluster.settled();
    await preview.router.whenReady();
    for (let roundNumber = 0; !ended.signal.aborted; roundNumber++) {
      const conversations = chatWorkload({ ...DEMO_WORKLOAD, seed: DEMO_WORKLOAD.seed + roundNumber });
      const add = (result: Parameters<DemoTally['add']>[0], { id }: { readonly id: number }): void =>
        tally.add(result, `${roundNumber}/${id}`);
      await driveChat(client, model, conversations, preview.clock, add, ended.signal);
      if (flags.once) break;
    }
    if (flags.once) await untilScaledDown(preview, ended.signal);
    ended.abort();
    await watching;
    await finish(preview, tally.summary(), flags, speed, output);
  } finally {
    interrupted.removeEventListener('abort', end);
    ended.abort();
    await watching;
    await client.close();
  }
}

async function untilScaledDown({ clock, scalings }: RunningPreview, signal: AbortSignal): Promise<void> {
  const deadline = clock.monotonic() + SCALE_DOWN_WAIT_MS;
  while (!signal.aborted && clock.monotonic() < deadline && !scalings.some(({ from, to }) => to < from)) {
    await pause(50);
  }
}

async function finish(
  preview: RunningPreview,
  summary: DemoSummary,
  flags: DemoFlags,
  speed: number,
  output: Output,
): Promise<void> {
  const { requests, errors, ttftMs, cacheHitRatio } = summary;
  const hit = cacheHitRatio === null ? 'unknown' : `${(100 * cacheHitRatio).toFixed(1)} %`;
  output.line(
    `${requests} requests, ${errors} errors, TTFT p50 ${ttftMs.p50.toFixed(0)} ms, p90 ${ttftMs.p90.toFixed(0)} ms, cache hit ${hit}`,
  );
  for (const [message, count] of Object.entries(summary.errorMessages)) output.line(`${count} × ${message}`);
  if (!flags.once) return;
  const [plan] = preview.pods.running().map((pod) => pod.plan);
  const compared = await comparison(plan?.model ?? '', plan?.accelerator ?? '', COMPARED_REPLICAS);
  for (const { name, hitRatio, ttftMs: ttft } of compared) {
    output.line(
      `in virtual time with ${COMPARED_REPLICAS} replicas, ${name}: cache hit ${(100 * hitRatio).toFixed(1)} %, TTFT p50 ${ttft.p50.toFixed(0)} ms, p90 ${ttft.p90.toFixed(0)} ms`,
    );
  }
  output.document({
    ...previewDocument(preview, speed),
    ...summary,
    comparison: { replicas: COMPARED_REPLICAS, seed: DEMO_WORKLOAD.seed, policies: compared },
  });
}

const COMPARED_REPLICAS = 4;
