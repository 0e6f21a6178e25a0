import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelRoute } from '../../../src/api/model-route';
import type { RouterConfig } from '../../../src/config/router-config';
import { Labels } from '../../../src/labels';
import { freePort } from '../../helpers/free-port';
import { hasRedisServer, RedisServer } from '../../helpers/redis-server';
import { chatBody, routerConfig, send, startTestRouter, TestEngine, type TestRouter, until } from '../../helpers/router-harness';
import { temporaryFolders } from '../../helpers/temporary-folder';

const HOSTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const;
const ENGINES = 6;
const AFFINITY: ModelRoute['spec']['sessionAffinity'] = { source: 'header', name: 'x-session', ttl: '1h' };
const AUTH = { required: false, apiKeys: { secretLabel: Labels.apiKeys, secrets: [], header: 'x-api-key' } };

describe('router replicas in front of engines that keep responses', () => {
  const folder = temporaryFolders();
  const routers: TestRouter[] = [];
  let engines: TestEngine[] = [];
  let made = 0;

  beforeEach(async () => {
    made = 0;
    engines = await Promise.all(Array.from({ length: ENGINES }, (_, i) => keeper(i).start()));
  });
  afterEach(async () => {
    await Promise.all(routers.splice(0).map(({ router }) => router.close()));
    await Promise.all(engines.map((engine) => engine.kill()));
  });

  /** Its responses are `resp_<engine>_<number>`, and it knows no others. */
  const keeper = (name: number): TestEngine => {
    const kept = new Set<string>();
    return new TestEngine(({ method, url, body }, response) => {
      const json = (status: number, document: object): void => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      };
      // No engine is faster than the news of what was sent to it.
      if (!url.startsWith('/v1/responses')) return void setTimeout(() => json(200, { engine: name, choices: [] }), 25);
      const asked = method === 'POST' ? /"previous_response_id":"([^"]+)"/.exec(body)?.[1] : url.split('/')[3];
      if (asked !== undefined && !kept.has(asked)) return json(404, { error: { message: `no ${asked}`, code: 'engine_404' } });
      if (method === 'GET') return json(200, { id: asked, object: 'response' });
      if (method === 'DELETE') return json(200, { id: asked, object: 'response', deleted: kept.delete(asked!) });
      const id = `resp_${name}_${++made}`;
      kept.add(id);
      json(200, { id, object: 'response' });
    });
  };
  const start = async (sections: Partial<RouterConfig>): Promise<TestRouter> => {
    const started = await startTestRouter({
      engines,
      config: routerConfig({ auth: AUTH as never, ...sections, drain: { announceMs: 50 } }),
      route: { sessionAffinity: AFFINITY },
    });
    routers.push(started);
    started.cluster.putSecret('default/keys', `${Labels.apiKeys}=true`, { red: KEYS.red, blue: KEYS.blue });
    return started;
  };
  const secretFile = (): string => {
    const file = join(folder(), 'secret');
    writeFileSync(file, 'the secret of these routers');
    return file;
  };
  const peers = async (router: TestRouter, count: number): Promise<void> => {
    let found = -1;
    const read = async (): Promise<void> => {
      const { body } = await send(`http://127.0.0.1:${router.router.metricsAddress.port}`, '/metrics');
      found = Number(/^kvasir_replication_peers (\d+)$/m.exec(body)?.[1]);
    };
    const end = Date.now() + 5_000;
    for (await read(); found !== count && Date.now() < end; await read()) await new Promise((r) => setTimeout(r, 10));
    expect(found).toBe(count);
  };
  const ask = async ({ url }: TestRouter, extra: object = {}, headers: Record<string, string> = {}) => {
    const { status, body } = await send(url, '/v1/responses', JSON.stringify({ model: 'm', input: 'hi', ...extra }), headers);
    const { id = '', error } = JSON.parse(body) as { id?: string; error?: { code: string; param: string } };
    return { status, id, engine: id.split('_')[1], error };
  };
  const get = async ({ url }: TestRouter, id: string, headers: Record<string, string> = {}, method = 'GET') => {
    const { status, body } = await send(url, `/v1/responses/${id}`, undefined, headers, method);
    return { status, code: (JSON.parse(body) as { error?: { code: string } }).error?.code };
  };
  const chat = async ({ url }: TestRouter, session: string): Promise<number> => {
    const { body } = await send(url, '/v1/chat/completions', chatBody(), { 'x-session': session });
    return (JSON.parse(body) as { engine: number }).engine;
  };

  const transports: [string, () => Promise<(at: number) => Partial<RouterConfig>>][] = [
    [
      'that connect to each other',
      async () => {
        const port = await freePort();
        const siblings = HOSTS.map((host) => `${host}:${port}`);
        const file = secretFile();
        return (at) => ({ replication: { secretFile: file, siblings, listen: `${HOSTS[at]}:${port}` } });
      },
    ],
  ];
  let redis: RedisServer | undefined;
  afterAll(() => redis?.stop());
  if (hasRedisServer()) {
    transports.push([
      'that meet in Redis',
      async () => {
        redis ??= await RedisServer.start();
        const { address } = redis;
        const file = secretFile();
        return () => ({ redis: { address }, replication: { secretFile: file, listen: '127.0.0.1:0' } });
      },
    ]);
  }

  describe.each(transports)('%s', (_name, open) => {
    const two = async (): Promise<readonly [TestRouter, TestRouter, (at: number) => Partial<RouterConfig>]> => {
      const sections = await open();
      const [a, b] = [await start(sections(0)), await start(sections(1))];
      await Promise.all([peers(a, 1), peers(b, 1)]);
      return [a, b, sections];
    };

    it('find a response that another one’s pod made, as soon as the client knows its id', async () => {
      const [a, b] = await two();
      let last = await ask(a);
      for (let turn = 0; turn < 20; turn++) {
        // The two take turns, and nothing waits in between.
        const next = await ask(turn % 2 === 0 ? b : a, { previous_response_id: last.id });
        expect(next).toMatchObject({ status: 200, engine: last.engine });
        expect(await get(turn % 2 === 0 ? a : b, next.id)).toEqual({ status: 200, code: undefined });
        last = next;
      }
    });

    it('give it to nobody else, and forget it when it is deleted', async () => {
      const [a, b] = await two();
      const { id } = await ask(a, {}, { 'x-api-key': KEYS.red });
      expect(await get(b, id, { 'x-api-key': KEYS.red })).toMatchObject({ status: 200 });
      expect(await get(b, id, { 'x-api-key': KEYS.blue })).toEqual({ status: 404, code: 'response_not_found' });
      expect(await ask(b, { previous_response_id: id }, { 'x-api-key': KEYS.blue })).toMatchObject({
        status: 400,
        error: { code: 'previous_response_not_found', param: 'previous_response_id' },
      });
      expect(await get(b, id, { 'x-api-key': KEYS.blue }, 'DELETE')).toMatchObject({ status: 404 });
      expect(await get(b, id, { 'x-api-key': KEYS.red }, 'DELETE')).toMatchObject({ status: 200 });
      // Not the engine's 404: the other router itself knows no more of it.
      const end = Date.now() + 5_000;
      const code = async () => (await get(a, id, { 'x-api-key': KEYS.red })).code;
      while ((await code()) !== 'response_not_found' && Date.now() < end);
      expect(await code()).toBe('response_not_found');
    });

    it('wait for news of a response for no longer than 50 ms', async () => {
      const [a] = await two();
      const beforeMs = performance.now();
      expect(await get(a, 'resp_unknown')).toEqual({ status: 404, code: 'response_not_found' });
      const waitedMs = performance.now() - beforeMs;
      expect(waitedMs).toBeGreaterThan(45);
      expect(waitedMs).toBeLessThan(500);
    });

    it('send a session to the pod where another one bound it', async () => {
      const [a, b] = await two();
      for (let i = 0; i < 12; i++) {
        const home = await chat(a, `s${i}`);
        expect([await chat(b, `s${i}`), await chat(a, `s${i}`), await chat(b, `s${i}`)]).toEqual([home, home, home]);
      }
    });

    it('tell a newcomer, and remember what one knew that is gone', async () => {
      const [a, b, sections] = await two();
      const response = await ask(a);
      const homes: number[] = [];
      for (let i = 0; i < 12; i++) homes.push(await chat(a, `s${i}`));
      await a.router.close();
      routers.splice(routers.indexOf(a), 1);
      await peers(b, 0);
      const c = await start(sections(2));
      await Promise.all([peers(b, 1), peers(c, 1)]);
      await until(() => b.router.load().exchanges === 0, 'nothing is under way');
      // The answer to the newcomer's question goes on after the two know each other.
      const end = Date.now() + 5_000;
      while ((await get(c, response.id)).status !== 200 && Date.now() < end);
      expect(await ask(c, { previous_response_id: response.id })).toMatchObject({ status: 200, engine: response.engine });
      for (const [i, home] of homes.entries()) expect(await chat(c, `s${i}`)).toBe(home);
    });
  });

  it('without replication say that they do not know it, as OpenAI does', async () => {
    const [a, b] = [await start({}), await start({})];
    const { id } = await ask(a);
    expect(await get(b, id)).toEqual({ status: 404, code: 'response_not_found' });
    expect(await ask(b, { previous_response_id: id })).toMatchObject({
      status: 400,
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    });
    expect(await ask(a, { previous_response_id: id })).toMatchObject({ status: 200 });
  });
});

const KEYS = { red: `sk-red-${'0'.repeat(20)}`, blue: `sk-blue-${'0'.repeat(20)}` };
