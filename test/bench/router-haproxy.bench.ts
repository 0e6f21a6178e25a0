/**
 * Whether the router decides better over sockets: mean time to first token of the beginning of the Mooncake conversation trace, through the
 * router as it is without a configuration file, against HAProxy with least connections. Eight simulated engines compute in wall time; trace
 * time, prompts, answers and KV caches are `--scale` times smaller. Fails when the median of the runs is above 0.70 times HAProxy's.
 *
 * Run:   npx tsx test/bench/router-haproxy.bench.ts [--minutes 5] [--scale 8] [--runs 3] [--max-ratio 0.7]
 * Needs: Linux with two CPUs; `haproxy` (Debian: apt-get install haproxy).
 * Takes: 2 × runs × minutes ÷ scale, and five seconds for each run: about four and a half minutes.
 *
 * Runs take turns; each begins with new engines and a new proxy, so that no cache and nothing learned is left of the one before. The proxy
 * has one CPU, engines and clients share another. A request says how long its answer is (`max_tokens`), since engines have to know.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ChatClient, type ChatResult } from '../../runtime/cli/load/chat-client';
import { FixedFleet } from '../../runtime/cli/replay/fixed-fleet';
import { wallClock } from '../../runtime/lib/wall-clock';
import type { ModelServer } from '../../src/api/model-server';
import type { Pod } from '../../src/api/pod';
import { acceleratorNamed } from '../../src/catalog/accelerators';
import { modelShapeOrDefault } from '../../src/catalog/models';
import { stepTimeOf } from '../../src/catalog/step-time';
import { planEngine } from '../../src/expand/plan-engine';
import { Annotations, NETWORKING_API_VERSION } from '../../src/labels';
import { freePort } from '../helpers/free-port';
import { MOONCAKE_FLEET } from '../helpers/replay-fleets';
import { BenchProcesses, joinLoadCpu, LOAD_CPU, PROXY_CPU, portOf, ROOT, requirePrograms, whenOpen } from './rig/bench-processes';
import { startBenchRouter } from './rig/bench-router';
import { median } from './rig/cpu-rounds';
import { runBench } from './rig/run-bench';
import { type ScaledRequest, scaledSlice } from './rig/scaled-trace';
import { addressOf, type FleetSpec } from './rig/simulated-fleet';

const TRACE = join(ROOT, 'test/fixtures/traces/mooncake-conversation.jsonl.gz');
/** Tokens that these engines take in one step, before scaling. */
const BATCHED_TOKENS = 8192;

interface Fleet {
  readonly spec: FleetSpec;
  /** JSON documents of the cluster's objects. */
  readonly objects: string;
}

/** The fleet of the replay benchmark, with a KV cache and steps `scale` times smaller. */
function fleetOf(port: number, scale: number): Fleet {
  const { model, accelerator, replicas, prefillTokensPerSecond } = MOONCAKE_FLEET;
  const batched = Math.round(BATCHED_TOKENS / scale);
  const server: ModelServer = {
    apiVersion: NETWORKING_API_VERSION,
    kind: 'ModelServer',
    metadata: { name: 'engine', namespace: 'default' },
    spec: {
      model,
      inferenceEngine: 'vLLM',
      workloadSelector: { matchLabels: { app: 'engine' } },
      workloadPort: { port, protocol: 'http' },
    },
  };
  const route = {
    apiVersion: NETWORKING_API_VERSION,
    kind: 'ModelRoute',
    metadata: { name: 'm', namespace: 'default' },
    spec: { modelName: 'm', rules: [{ name: 'all', targetModels: [{ modelServerName: 'engine' }] }] },
  };
  const args = ['--model', model, '--served-model-name', model, '--max-num-batched-tokens', String(batched)];
  const known = acceleratorNamed(accelerator)!;
  const annotations = { [Annotations.accelerator]: accelerator };
  const pods = Array.from(
    { length: replicas },
    (_, index): Pod => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `engine-${index}`, namespace: 'default', uid: `engine-${index}`, labels: { app: 'engine' }, annotations },
      spec: {
        containers: [
          {
            name: 'engine',
            image: 'vllm/vllm-openai:latest',
            args: [...args, '--port', String(port)],
            resources: { limits: { [known.resourceName]: 1 } },
          },
        ],
      },
      status: { phase: 'Running', podIP: addressOf(index), conditions: [{ type: 'Ready', status: 'True' }] },
    }),
  );
  const plan = planEngine(pods[0]!, { modelServers: [server], modelRoutes: [] })!;
  const { facts } = new FixedFleet(MOONCAKE_FLEET);
  const numBlocks = Math.round(facts.kvTokens / facts.blockSize / scale);
  const stepTime = {
    ...stepTimeOf(modelShapeOrDefault(model).shape, known, 1),
    perPrefillTokenMs: 1000 / prefillTokensPerSecond!,
  };
  return {
    spec: { replicas, port, plan, stepTime, numBlocks },
    objects: [server, route, ...pods].map((object) => JSON.stringify(object)).join('\n---\n'),
  };
}

function haproxyConfiguration(port: number, { replicas, port: enginePort }: FleetSpec): string {
  const servers = Array.from({ length: replicas }, (_, i) => `  server engine-${i} ${addressOf(i)}:${enginePort}`);
  return `global
  nbthread 1
  maxconn 4096
defaults
  mode http
  option http-no-delay
  timeout connect 5s
  timeout client 600s
  timeout server 600s
frontend clients
  bind 127.0.0.1:${port}
  default_backend engines
backend engines
  balance leastconn
${servers.join('\n')}
`;
}

interface RunResult {
  readonly meanTtftMs: number;
  readonly p90TtftMs: number;
  /** Share of prompt tokens that engines had in their caches. */
  readonly hitRatio: number;
}

async function play(port: number, model: string, requests: readonly ScaledRequest[]): Promise<RunResult> {
  const client = new ChatClient(wallClock(), { host: '127.0.0.1', port });
  const started = performance.now();
  const answers: Promise<ChatResult>[] = [];
  for (const { atMs, prompt, outputTokens } of requests) {
    const early = atMs - (performance.now() - started);
    if (early > 0) await wait(early);
    const messages = [{ role: 'user', content: prompt }];
    answers.push(client.send({ model, messages, max_tokens: outputTokens, ignore_eos: true }));
  }
  const results = await Promise.all(answers);
  await client.close();
  const failed = results.filter(({ error }) => error !== undefined);
  if (failed.length > 0) throw new Error(`${failed.length} of ${results.length} requests failed, one with: ${failed[0]!.error}`);
  const ttfts = results.map(({ ttftMs }) => ttftMs).sort((a, b) => a - b);
  const sum = (figure: (result: ChatResult) => number): number => results.reduce((total, result) => total + figure(result), 0);
  return {
    meanTtftMs: sum(({ ttftMs }) => ttftMs) / results.length,
    p90TtftMs: ttfts[Math.floor(0.9 * ttfts.length)]!,
    hitRatio: sum(({ cachedTokens }) => cachedTokens ?? 0) / sum(({ promptTokens }) => promptTokens),
  };
}

type Proxy = 'haproxy' | 'router';

/** One run with new engines and a new proxy. */
async function run(proxy: Proxy, requests: readonly ScaledRequest[], scale: number): Promise<RunResult> {
  const processes = new BenchProcesses();
  try {
    const { spec, objects } = fleetOf(await freePort(), scale);
    const plan = { ...spec.plan, reportsCachedTokens: true };
    const program = join(ROOT, 'test/bench/rig/simulated-fleet.ts');
    const fleet = processes.startTypeScript(LOAD_CPU, program, [JSON.stringify({ ...spec, plan })]);
    await portOf(fleet, /PORT (\d+)/);
    const { model } = MOONCAKE_FLEET;
    if (proxy === 'router') return await play((await startBenchRouter(processes, { objects })).port, 'm', requests);
    const port = await freePort();
    const file = join(processes.folder, 'haproxy.cfg');
    writeFileSync(file, haproxyConfiguration(port, spec));
    processes.start(PROXY_CPU, 'haproxy', ['-db', '-f', file]);
    await whenOpen(port);
    return await play(port, model, requests);
  } finally {
    processes.close();
  }
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '5' },
      scale: { type: 'string', default: '8' },
      runs: { type: 'string', default: '3' },
      'max-ratio': { type: 'string', default: '0.7' },
    },
  });
  requirePrograms({ haproxy: 'haproxy' });
  joinLoadCpu();
  const scale = Number(values.scale);
  const requests = scaledSlice({ file: TRACE, minutes: Number(values.minutes), scale });
  const print = (line: string): boolean => process.stdout.write(`${line}\n`);
  const seconds = (requests.at(-1)!.atMs / 1000).toFixed(0);
  print(`${requests.length} requests in ${seconds} s over ${MOONCAKE_FLEET.replicas} engines, ${values.runs} runs of each`);
  const means: Record<Proxy, number[]> = { haproxy: [], router: [] };
  for (let index = 0; index < Number(values.runs); index++) {
    for (const proxy of ['haproxy', 'router'] as const) {
      const { meanTtftMs, p90TtftMs, hitRatio } = await run(proxy, requests, scale);
      means[proxy].push(meanTtftMs);
      const share = (100 * hitRatio).toFixed(0);
      print(
        `${proxy.padEnd(8)} TTFT mean ${meanTtftMs.toFixed(0).padStart(5)} ms, p90 ${p90TtftMs.toFixed(0).padStart(5)} ms, ${share} % cached`,
      );
    }
  }
  const ratio = median(means.router) / median(means.haproxy);
  print(`mean TTFT, medians of the runs: ${ratio.toFixed(3)} × HAProxy's (at most ${values['max-ratio']})`);
  return ratio <= Number(values['max-ratio']);
}

runBench(main);
