import { Agent, request as httpRequest } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { silentLogger } from '../../../runtime/lib/logger';
import { seededRandom } from '../../../runtime/lib/random';
import { wallClock } from '../../../runtime/lib/wall-clock';
import { startRouter } from '../../../runtime/router/router';
import type { RunningEngine } from '../../../runtime/simulator/running-engine';
import { startEngine } from '../../../runtime/simulator/start-engine';
import type { EnginePlan } from '../../../src/expand/engine-plan';
import { MemoryCluster, modelRoute, modelServer, pod, routerConfig, send, until } from '../../helpers/router-harness';

const REQUESTS = 2_000;
const CONCURRENCY = 100;
const ENGINES = 3;

const PLAN: EnginePlan = {
  engine: 'vllm',
  version: '0.32.0',
  model: 'm',
  servedModelNames: ['m'],
  adapters: {},
  port: 8000,
  maxNumSeqs: 64,
  maxNumBatchedTokens: 2048,
  maxModelLen: 4096,
  blockSize: 16,
  tensorParallelSize: 1,
  gpus: 1,
  reportsCachedTokens: true,
  enablePrefixCaching: true,
  maxLoras: 1,
  shutdownTimeoutSeconds: 0,
};

/** How one client's request ended. */
type End =
  | { readonly kind: 'left' }
  | { readonly kind: 'answered'; readonly status: number; readonly body: string; readonly isStream: boolean }
  | { readonly kind: 'broken'; readonly message: string };

function engineAt(port: number): Promise<RunningEngine> {
  return startEngine({
    plan: PLAN,
    host: '127.0.0.1',
    port,
    clock: wallClock(),
    random: seededRandom(7),
    stepTime: { baseMs: 2, perPrefillTokenMs: 0.005, perSequenceMs: 0.02, perKvTokenMs: 0 },
    numBlocks: 4_000,
  });
}

/** One request; a client that is to leave does so `leaveAfterMs` after sending. */
function ask(agent: Agent, port: number, index: number, leaveAfterMs: number | undefined): Promise<End> {
  const stream = index % 2 === 0;
  const body = JSON.stringify({
    model: 'm',
    max_tokens: 12,
    stream,
    messages: [{ role: 'user', content: `conversation ${index % 40} `.repeat(20) + index }],
  });
  return new Promise((resolve) => {
    const request = httpRequest({
      agent,
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json' },
    });
    let left = false;
    request.on('error', (error) => resolve(left ? { kind: 'left' } : { kind: 'broken', message: error.message }));
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({
          kind: 'answered',
          status: response.statusCode!,
          body: text,
          isStream: response.headers['content-type']?.startsWith('text/event-stream') === true,
        }),
      );
      response.on('error', (error) => resolve(left ? { kind: 'left' } : { kind: 'broken', message: error.message }));
    });
    request.end(body);
    if (leaveAfterMs === undefined) return;
    setTimeout(() => {
      left = true;
      request.destroy(new Error('left'));
      resolve({ kind: 'left' });
    }, leaveAfterMs);
  });
}

/** Whether a client can tell what happened: a whole answer, or an error in OpenAI's shape. */
function isTold(end: End): boolean {
  if (end.kind !== 'answered') return end.kind === 'left';
  if (end.status === 200 && end.isStream) {
    if (end.body.endsWith('data: [DONE]\n\n')) return !end.body.includes('"error"');
    return isOpenAiError(end.body.slice(end.body.lastIndexOf('data: ') + 6));
  }
  if (end.status === 200) return (JSON.parse(end.body) as { usage?: unknown }).usage !== undefined;
  return isOpenAiError(end.body);
}

function isOpenAiError(text: string): boolean {
  const { error } = JSON.parse(text) as { error?: { message?: unknown; type?: unknown } };
  return typeof error?.message === 'string' && typeof error.type === 'string';
}

it('2,000 requests, a quarter of the clients leaving early, one engine killed and restarted: nothing leaks and everybody is told', async () => {
  const engines = await Promise.all(Array.from({ length: ENGINES }, () => engineAt(0)));
  const cluster = new MemoryCluster();
  cluster.put(modelServer('server'));
  cluster.put(modelRoute('route', 'server'));
  engines.forEach((engine, index) => {
    cluster.put(pod(`pod-${index}`, 'server', engine.port));
  });
  const any = { host: '127.0.0.1', port: 0 };
  const router = await startRouter({
    cluster,
    clock: wallClock(),
    random: seededRandom(1),
    config: routerConfig(),
    listen: any,
    metricsListen: any,
    debugListen: any,
    log: silentLogger(),
  });
  await router.whenReady();
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  const random = seededRandom(3);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const ends: End[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < REQUESTS) {
      const index = next++;
      // Half of those that leave do so during prefill, half during the answer.
      const leaveAfterMs = index % 4 === 3 ? random.next() * (index % 8 === 3 ? 4 : 60) : undefined;
      ends.push(await ask(agent, router.address.port, index, leaveAfterMs));
      if (ends.length === 600) {
        engines[0]!.faults.kill();
        await engines[0]!.exited;
        await engines[0]!.stop(0);
      }
      if (ends.length === 1_200) engines[0] = await engineAt(engines[0]!.port);
    }
  };
  delay.enable();
  await Promise.all(Array.from({ length: CONCURRENCY }, client));
  delay.disable();

  expect(ends).toHaveLength(REQUESTS);
  const unclear = ends.filter((end) => !isTold(end));
  expect(unclear).toEqual([]);
  const left = ends.filter(({ kind }) => kind === 'left').length;
  expect(left).toBeGreaterThan(REQUESTS / 8);
  const good = ends.filter((end) => end.kind === 'answered' && end.status === 200).length;
  expect(good).toBeGreaterThan((REQUESTS - left) * 0.9);

  await until(() => router.load().activeRequests === 0, 'every request is over');
  expect(router.load()).toEqual({ permits: 0, bodyBytes: 0, exchanges: 0, activeRequests: 0, reservedLimits: 0, queued: 0 });
  for (const { inFlight, queuedTokens } of router.endpoints.all())
    expect({ inFlight, queuedTokens }).toEqual({ inFlight: 0, queuedTokens: 0 });
  const { body: metrics } = await send(`http://127.0.0.1:${router.metricsAddress.port}`, '/metrics');
  const gauges = metrics.split('\n').filter((line) => /^kthena_router_active_/.test(line));
  expect(gauges.length).toBeGreaterThanOrEqual(3);
  for (const line of gauges) expect(line).toMatch(/ 0$/);
  await until(
    () => engines.every((engine) => engine.stats().running === 0 && engine.stats().waiting === 0),
    'no engine generates',
  );

  // The same process runs engines and clients too, so the router alone is better than this.
  process.stdout.write(
    `event-loop delay p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms; ${good} good answers, ${left} clients left\n`,
  );
  expect(delay.percentile(50) / 1e6).toBeLessThan(50);

  agent.destroy();
  await router.close();
  await Promise.all(engines.map((engine) => engine.stop(0)));
}, 60_000);
