import type { ServerResponse } from 'node:http';
import type { KubeObject } from '../../../src/api/meta';
import type { ModelRoute, SessionAffinity } from '../../../src/api/model-route';
import { decodeRouterConfig } from '../../../src/config/router-config';
import { Labels } from '../../../src/labels';
import { kindNamed, longPrompt, pdBody, startPdRig } from '../../helpers/pd-rig';
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
const HEADER: SessionAffinity = { source: 'header', name: 'X-Session', ttl: '1h' };

let at: TestRouter;
let engines: TestEngine[];
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(
  count: number,
  sessionAffinity: SessionAffinity = HEADER,
  spec: Partial<ModelRoute['spec']> = {},
): Promise<void> {
  engines = [];
  for (let i = 0; i < count; i++) engines.push(await engine());
  const config = routerConfig({ explain: { header: true }, retry: { intervalMs: 0, budgetRatio: 1 } });
  at = await startTestRouter({ engines, config, route: { sessionAffinity, ...spec } });
  closers.push(() => at.router.close());
}

const answered = (_request: ReceivedRequest, response: ServerResponse): void => {
  response.setHeader('content-type', 'application/json');
  response.end('{}');
};

async function engine(): Promise<TestEngine> {
  const made = await new TestEngine(answered).start();
  closers.push(() => made.kill());
  return made;
}

/** @returns the engine's number, and what the router says of the session. */
async function ask(headers: Record<string, string>, path = CHAT) {
  const before = engines.map(({ received }) => received.length);
  const answer = await send(at.url, path, chatBody(), { 'x-kvasir-explain': '1', ...headers });
  expect(answer.status).toBe(200);
  const servedBy = engines.findIndex(({ received }, i) => received.length > before[i]!);
  const decision = JSON.parse(answer.headers['x-kvasir-decision'] as string) as {
    session?: { endpoint: string; outcome: string };
  };
  return { servedBy, session: decision.session, cookie: answer.headers['set-cookie'] };
}

const session = (name: string): Record<string, string> => ({ 'x-session': name });

async function counted(): Promise<Record<string, number>> {
  const { body } = await send(`http://127.0.0.1:${at.router.metricsAddress.port}`, '/metrics');
  const lines = [
    ...body.matchAll(/^kvasir_router_session_attempts_total\{model_route="default\/route",outcome="(\w+)"\} (\d+)$/gm),
  ];
  return Object.fromEntries(lines.map(([, outcome, value]) => [outcome!, Number(value)]));
}

it('requests of a session go to one pod, those of many sessions to many, and those of none anywhere', async () => {
  await start(4);
  const homes = new Map<string, number>();
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 12; i++) {
      const { servedBy, session: told } = await ask(session(`s${i}`));
      expect(told?.outcome).toBe(round === 0 ? undefined : 'kept');
      expect(homes.get(`s${i}`) ?? servedBy).toBe(servedBy);
      homes.set(`s${i}`, servedBy);
    }
  }
  expect(new Set(homes.values()).size).toBeGreaterThan(1);
  expect(await counted()).toEqual({ new: 12, kept: 36 });
  const free = new Set<number>();
  for (let i = 0; i < 24; i++) free.add((await ask({})).servedBy);
  expect(free.size).toBeGreaterThan(1);
  expect(await counted()).toEqual({ new: 12, kept: 36 });
});

it('a client without a cookie is given one, and comes back with it to the same pod', async () => {
  await start(4, { source: 'cookie', name: 'llm-session', ttl: '1h' });
  const first = await ask({});
  expect(first.cookie).toEqual([expect.stringMatching(/^llm-session=[A-Za-z0-9_-]{22}; Path=\/; HttpOnly; SameSite=Lax$/)]);
  const cookie = first.cookie![0]!.split(';')[0]!;
  for (let i = 0; i < 8; i++) {
    const next = await ask({ cookie });
    expect([next.servedBy, next.cookie]).toEqual([first.servedBy, undefined]);
  }
  // Cookies end at the router.
  expect(JSON.stringify(engines.map(({ received }) => received))).not.toContain('llm-session');
});

it('a parameter of the URL names a session, and goes on to the engine', async () => {
  await start(3, { source: 'query', name: 'sid', ttl: '1h' });
  const { servedBy } = await ask({}, `${CHAT}?sid=a`);
  for (let i = 0; i < 8; i++) expect((await ask({}, `${CHAT}?x=${i}&sid=a`)).servedBy).toBe(servedBy);
  expect(engines[servedBy]!.received.at(-1)!.url).toBe(`${CHAT}?x=7&sid=a`);
});

it('a session whose pod is gone moves once, and stays where it went', async () => {
  await start(3);
  const first = await ask(session('a'));
  at.cluster.remove('Pod', 'default', `pod-${first.servedBy}`);
  await until(() => at.router.endpoints.all().length === 2, 'the pod is gone');
  const moved = await ask(session('a'));
  expect(moved.servedBy).not.toBe(first.servedBy);
  expect(moved.session).toEqual({ endpoint: expect.stringContaining(`pod-${first.servedBy}#`), outcome: 'moved' });
  for (let i = 0; i < 6; i++) expect((await ask(session('a'))).servedBy).toBe(moved.servedBy);
  expect(await counted()).toEqual({ new: 1, moved: 1, kept: 6 });
});

it('a pod of the same name and address is another one', async () => {
  await start(2);
  const first = await ask(session('a'));
  const name = `pod-${first.servedBy}`;
  at.cluster.remove('Pod', 'default', name);
  at.cluster.put(pod(name, 'server', engines[first.servedBy]!.port, 'uid-new'));
  expect((await ask(session('a'))).session?.outcome).toBe('moved');
});

it('a session moves when its pod fails, with the attempt that another pod serves', async () => {
  await start(2);
  const first = await ask(session('a'));
  engines[first.servedBy]!.answer = (_request, response) => response.writeHead(500).end();
  const other = 1 - first.servedBy;
  expect((await send(at.url, CHAT, chatBody(), session('a'))).status).toBe(200);
  expect((await ask(session('a'))).servedBy).toBe(other);
});

it('a session moves when its pod has no free slot', async () => {
  await start(0);
  const both = [await engine(), await engine()];
  engines = both;
  both.forEach(({ port }, i) => {
    const one = pod(`pod-${i}`, 'server', port) as KubeObject;
    const container = { name: 'engine', image: 'vllm/vllm-openai:v0.20.2', args: ['--model', 'm', '--max-num-seqs', '1'] };
    at.cluster.put({ ...one, spec: { containers: [container] } } as KubeObject);
  });
  const first = await ask(session('a'));
  const held: ServerResponse[] = [];
  both[first.servedBy]!.answer = (_request, response) => held.push(response);
  const waiting = send(at.url, CHAT, chatBody(), session('a'));
  await until(() => held.length === 1, 'the slot is taken');
  const next = await ask(session('a'));
  expect([next.servedBy, next.session?.outcome]).toEqual([1 - first.servedBy, 'moved']);
  held[0]!.setHeader('content-type', 'application/json').end('{}');
  await waiting;
  expect((await ask(session('a'))).servedBy).toBe(1 - first.servedBy);
});

it('a session stays with the target that was drawn for it, until that gets nothing more', async () => {
  await start(1);
  const other = await engine();
  engines.push(other);
  at.cluster.put(modelServer('other'));
  at.cluster.put(pod('other-0', 'other', other.port));
  const route = at.cluster.objects.get('ModelRoute', 'default', 'route')!;
  const weigh = (...weights: number[]): void => {
    const targetModels = ['server', 'other'].map((modelServerName, i) => ({ modelServerName, weight: weights[i]! }));
    at.cluster.put({ ...route, spec: { ...route.spec, rules: [{ targetModels }] } } as KubeObject);
  };
  weigh(50, 50);
  const homes = new Map<string, number>();
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 8; i++) {
      const { servedBy } = await ask(session(`s${i}`));
      expect(homes.get(`s${i}`) ?? servedBy).toBe(servedBy);
      homes.set(`s${i}`, servedBy);
    }
  }
  expect(new Set(homes.values()).size).toBe(2);
  weigh(100, 0);
  for (const name of homes.keys()) expect((await ask(session(name))).servedBy).toBe(0);
});

it('a session is nobody else’s: another tenant’s of the same name does not move it', async () => {
  engines = [];
  for (let i = 0; i < 4; i++) engines.push(await engine());
  const decoded = decodeRouterConfig({
    auth: { required: false, apiKeys: {} },
    accessLog: { enabled: false },
    explain: { header: true },
  });
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  const { config } = decoded;
  at = await startTestRouter({ engines, config, route: { sessionAffinity: HEADER } });
  closers.push(() => at.router.close());
  const keys = ['sk-red-0000000000000001', 'sk-blue-000000000000001'];
  at.cluster.putSecret('default/keys', `${Labels.apiKeys}=true`, { red: keys[0]!, blue: keys[1]! });
  const [red, blue] = keys.map((key) => ({ ...session('a'), 'x-api-key': key }));
  const first = await ask(red!);
  expect((await ask(blue!)).session).toBeUndefined();
  for (let i = 0; i < 4; i++) expect((await ask(red!)).servedBy).toBe(first.servedBy);
});

it('a session stays with its decode pod where prefill and decode are apart', async () => {
  const rig = await startPdRig({ kind: kindNamed('nixl'), prefills: 2, decodes: 3 });
  closers.push(() => rig.close());
  const route = rig.cluster.objects.list('ModelRoute')[0]!;
  rig.cluster.put({ ...route, spec: { ...route.spec, sessionAffinity: HEADER } } as KubeObject);
  for (let i = 0; i < 12; i++) {
    const body = pdBody(longPrompt(`turn ${i}`));
    expect((await send(rig.url, CHAT, body, session(`s${i % 3}`))).status).toBe(200);
  }
  const decodes = [0, 1, 2].map(
    (home) => new Set(rig.records.filter((_, i) => i % 3 === home).map(({ selected_pod: name }) => name)),
  );
  expect(decodes.map(({ size }) => size)).toEqual([1, 1, 1]);
  expect([...decodes[0]!]).toEqual([expect.stringContaining('decode')]);
});
