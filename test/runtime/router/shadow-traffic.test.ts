import { request as httpRequest, type ServerResponse } from 'node:http';
import type { ModelRoute } from '../../../src/api/model-route';
import type { RouterConfig } from '../../../src/config/router-config';
import {
  chatBody,
  modelServer,
  pod,
  type ReceivedRequest,
  routerConfig,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  until,
} from '../../helpers/router-harness';

const CHAT = '/v1/chat/completions';
const USAGE = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };

let at: TestRouter;
let primary: TestEngine;
let shadow: TestEngine;
const closers: (() => unknown)[] = [];

const answers =
  (name: string) =>
  (_request: ReceivedRequest, response: ServerResponse): void => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name, usage: USAGE }));
  };

afterEach(async () => {
  await until(() => at.router.load().exchanges === 0, 'no copy is left');
  await until(() => at.router.load().activeRequests === 0, 'no request is left');
  expect(Object.values(at.router.load()).every((value) => value === 0)).toBe(true);
  expect(at.router.endpoints.all().map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(
  percent = 100,
  route: Partial<ModelRoute['spec']> = {},
  parts: { limits?: Partial<RouterConfig['limits']> } = {},
) {
  [primary, shadow] = [await new TestEngine(answers('primary')).start(), await new TestEngine(answers('shadow')).start()];
  closers.push(
    () => primary.kill(),
    () => shadow.kill(),
  );
  const rules = [{ targetModels: [{ modelServerName: 'server', weight: 100 }], shadow: { modelServerName: 'trial', percent } }];
  at = await startTestRouter({ engines: [primary], config: routerConfig(parts), route: { rules, ...route } });
  closers.push(() => at.router.close());
  at.cluster.put(modelServer('trial', { model: 'trial-model' }));
  at.cluster.put(pod('trial-0', 'trial', shadow.port));
}

const ask = (extra: object = {}) => send(at.url, CHAT, chatBody(extra));

async function metrics(): Promise<string> {
  return (await send(`http://127.0.0.1:${at.router.metricsAddress.port}`, '/metrics')).body;
}

async function copies(): Promise<Record<string, number>> {
  const lines = (await metrics()).matchAll(
    /^kvasir_router_shadow_requests_total\{model_route="default\/route",model_server="default\/trial",outcome="(\w+)"\} (\d+)$/gm,
  );
  return Object.fromEntries([...lines].map(([, outcome, value]) => [outcome!, Number(value)]));
}

it('a copy goes to the shadow with its own model, and the client gets the answer of its target', async () => {
  await start();
  const answer = await ask({ seed: 1.0 });
  expect([answer.status, JSON.parse(answer.body).name]).toEqual([200, 'primary']);
  await until(() => at.router.load().exchanges === 0, 'the copy is over');
  expect(shadow.received.map(({ url, body }) => [url, body])).toEqual([
    [CHAT, primary.received[0]!.body.replace('"m"', '"trial-model"')],
  ]);
  expect(shadow.received[0]!.headers['x-request-id']).not.toBe(primary.received[0]!.headers['x-request-id']);
  expect(await copies()).toEqual({ completed: 1 });
});

it('copies are as many as the rule says, by chance', async () => {
  await start(25);
  for (let i = 0; i < 80; i++) await ask();
  await until(() => at.router.load().exchanges === 0, 'copies are over');
  expect(shadow.received.length).toBeGreaterThan(8);
  expect(shadow.received.length).toBeLessThan(36);
});

it('0 percent copies nothing', async () => {
  await start(0);
  for (let i = 0; i < 10; i++) await ask();
  expect([shadow.received.length, await copies()]).toEqual([0, {}]);
});

it.each<[string, TestEngine['answer'], string]>([
  ['refuses', (_request, response) => response.writeHead(500).end('no'), 'refused'],
  ['resets the connection', (_request, response) => response.destroy(), 'failed'],
  [
    'breaks off in a stream',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"delta":{"content":"a"}}]}\n\n', () => response.destroy());
    },
    'failed',
  ],
])('a shadow that %s is none of the client’s business, and is not asked twice', async (_name, answer, outcome) => {
  await start();
  shadow.answer = answer;
  for (let i = 0; i < 3; i++) expect(JSON.parse((await ask()).body).name).toBe('primary');
  await until(() => at.router.load().exchanges === 0, 'copies are over');
  expect(await copies()).toEqual({ [outcome]: 3 });
  expect(shadow.received).toHaveLength(3);
  expect(primary.received).toHaveLength(3);
});

it('a shadow without pods, or that does not exist, leaves the request alone', async () => {
  await start();
  at.cluster.remove('Pod', 'default', 'trial-0');
  expect((await ask()).status).toBe(200);
  expect(await copies()).toEqual({ unserved: 1 });
  at.cluster.put(pod('trial-0', 'trial', shadow.port));
  at.cluster.remove('ModelServer', 'default', 'trial');
  expect((await ask()).status).toBe(200);
  at.cluster.put(modelServer('trial'));
  expect(shadow.received).toHaveLength(0);
});

it('a copy goes on when its request is answered, and so many at one time are made and no more', async () => {
  await start(100, {}, { limits: { shadowRequestsInFlight: 2 } });
  const held: ServerResponse[] = [];
  shadow.answer = (_request, response) => held.push(response);
  for (let i = 0; i < 5; i++) expect((await ask()).status).toBe(200);
  await until(() => held.length === 2, 'two copies are there');
  expect(at.router.load().exchanges).toBe(2);
  // Neither a permit nor the target's pods know of them.
  expect(at.router.load().activeRequests).toBe(0);
  expect(at.router.endpoints.all().find(({ endpoint }) => endpoint.pod.name === 'pod-0')!.inFlight).toBe(0);
  for (const response of held) answers('late')(shadow.received[0]!, response);
  await until(() => at.router.load().exchanges === 0, 'copies are over');
  expect(await copies()).toEqual({ skipped: 3, completed: 2 });
});

it('a copy ends when the client leaves', async () => {
  await start();
  primary.answer = shadow.answer = () => undefined;
  const leaving = httpRequest(`${at.url}${CHAT}`, { method: 'POST', headers: { 'content-type': 'application/json' } });
  leaving.on('error', () => undefined);
  leaving.end(chatBody());
  await until(() => primary.active === 1 && shadow.active === 1, 'both engines have it');
  leaving.destroy();
  await until(() => primary.active === 0 && shadow.active === 0, 'both engines were left');
  expect(await copies()).toEqual({ aborted: 1 });
});

it('copies count against no limit, and are no usage', async () => {
  await start(100, { rateLimit: { inputTokensPerUnit: 1_000, outputTokensPerUnit: 1_000, unit: 'day' } });
  const remaining: unknown[] = [];
  for (let i = 0; i < 3; i++) {
    const { headers } = await ask();
    remaining.push(
      Object.entries(headers)
        .filter(([name]) => name.startsWith('x-ratelimit-remaining'))
        .map(([, value]) => Number(value)),
    );
    await until(() => at.router.load().exchanges === 0 && at.router.load().reservedLimits === 0, 'all is settled');
  }
  // Each request costs 7 tokens of output and 5 of input, once.
  const costs = remaining.slice(1).map((now, i) => (now as number[]).map((value, k) => (remaining[i] as number[])[k]! - value));
  expect(costs.flat().length).toBeGreaterThan(0);
  expect(costs.flat().every((cost) => cost === 5 || cost === 7)).toBe(true);
  expect(shadow.received).toHaveLength(3);
  const output = (await metrics()).match(/^kthena_router_tokens_total\{.*token_type="output".*\} (\d+)$/m)!;
  expect(output[1]).toBe('21');
});

it('answers that endpoints keep are not asked for twice', async () => {
  await start();
  primary.answer = (_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"id":"resp_1"}');
  };
  await send(at.url, '/v1/responses', JSON.stringify({ model: 'm', input: 'a' }));
  await send(at.url, '/v1/responses', JSON.stringify({ model: 'm', input: 'b', previous_response_id: 'resp_1' }));
  await send(at.url, '/v1/responses/resp_1');
  await until(() => at.router.load().exchanges === 0, 'the copy is over');
  expect([primary.received.length, shadow.received.map(({ body }) => JSON.parse(body).input)]).toEqual([3, ['a']]);
});
