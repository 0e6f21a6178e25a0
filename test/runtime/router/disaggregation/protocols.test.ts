import type { ServerResponse } from 'node:http';
import { silentLogger } from '../../../../runtime/lib/logger';
import { seededRandom } from '../../../../runtime/lib/random';
import { wallClock } from '../../../../runtime/lib/wall-clock';
import { type RunningRouter, startRouter } from '../../../../runtime/router/router';
import { kindNamed, PD_SELECTOR, type PdRole, pdPod } from '../../../helpers/pd-rig';
import { recording } from '../../../helpers/recordings';
import {
  MemoryCluster,
  modelRoute,
  modelServer,
  type ReceivedRequest,
  routerConfig,
  send,
  TestEngine,
  until,
} from '../../../helpers/router-harness';

const NIXL = 'vllm-0.32.0/kv-transfer/nixl';
const SGLANG = 'sglang-0.5.23/pd';
const CHAT = '/v1/chat/completions';
const COMPLETIONS = '/v1/completions';

type Answer = TestEngine['answer'];
type Body = Readonly<Record<string, unknown>>;

interface Stand {
  readonly url: string;
  readonly router: RunningRouter;
  readonly cluster: MemoryCluster;
  readonly prefill: TestEngine;
  readonly decode: TestEngine;
}

const stands: Stand[] = [];

/** A router in front of one test engine of each role. */
async function stand(
  kind: string,
  answers: Readonly<Record<PdRole, Answer>>,
  options: {
    readonly prefillArgs?: readonly string[];
    readonly kv?: number;
    readonly config?: Parameters<typeof routerConfig>[0];
  } = {},
): Promise<Stand> {
  const { server, ...rest } = kindNamed(kind);
  const prefill = await new TestEngine(answers.prefill).start();
  const decode = await new TestEngine(answers.decode).start();
  const cluster = new MemoryCluster();
  cluster.put(modelServer('server', { model: 'tiny', ...server, workloadSelector: PD_SELECTOR }));
  cluster.put(modelRoute('route', 'server', { modelName: 'tiny', loraAdapters: ['lora-a'] }));
  const more = options.prefillArgs ?? [];
  const pods = { ...rest, args: (role: PdRole) => [...rest.args(role), ...(role === 'prefill' ? more : [])] };
  cluster.put(pdPod('prefill-0', 'prefill', { http: prefill.port, kv: options.kv ?? 7000 }, pods));
  cluster.put(pdPod('decode-0', 'decode', { http: decode.port }, pods));
  const any = { host: '127.0.0.1', port: 0 };
  const router = await startRouter({
    cluster,
    clock: wallClock(),
    random: seededRandom(1),
    config: routerConfig({ disaggregation: { wholeBelowTokens: 0 }, retry: { attempts: 0, budgetRatio: 1 }, ...options.config }),
    listen: any,
    metricsListen: any,
    debugListen: any,
    log: silentLogger(),
  });
  await router.whenReady();
  const made = { url: `http://127.0.0.1:${router.address.port}`, router, cluster, prefill, decode };
  stands.push(made);
  return made;
}

afterEach(async () => {
  for (const { router, prefill, decode } of stands.splice(0)) {
    await until(() => router.load().activeRequests === 0, 'every request is over');
    expect(router.load()).toMatchObject({ permits: 0, bodyBytes: 0, exchanges: 0, activeRequests: 0 });
    for (const { inFlight } of router.endpoints.all()) expect(inFlight).toBe(0);
    await router.close();
    await prefill.kill();
    await decode.kill();
  }
});

const recorded =
  (folder: string, name: string): Answer =>
  (_request, response) => {
    const { status, headers, body } = recording(folder, name).answer;
    response.writeHead(status, { 'content-type': headers['content-type'] });
    response.end(body);
  };
const json = (document: object): Answer => {
  return (_request: ReceivedRequest, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document));
  };
};
const USAGE = { prompt_tokens: 5, total_tokens: 6, completion_tokens: 1 };
const document = json({ choices: [], usage: USAGE });
/** Requests of clients; the router also asks which models there are. */
const asked = ({ received }: TestEngine): readonly ReceivedRequest[] => received.filter(({ method }) => method === 'POST');
const bodyOf = (engine: TestEngine, index = 0): Body => JSON.parse(asked(engine)[index]!.body) as Body;
const requestBody = (folder: string, name: string): Body =>
  JSON.parse(recording(folder, name).request.toString('utf8').split('\r\n\r\n')[1]!) as Body;
const metricsOf = async ({ router }: Stand): Promise<string> =>
  (await send(`http://127.0.0.1:${router.metricsAddress.port}`, '/metrics')).body;
const prompt = (extra: object = {}): string => JSON.stringify({ model: 'tiny', prompt: 'a b c', ...extra });

/** Prefill's answer as recorded, with parts of its parameters changed. */
function handing(change: Readonly<Record<string, unknown>> | null): Answer {
  const answer = JSON.parse(recording(NIXL, 'p_01_prefill').answer.body.toString()) as { kv_transfer_params: object };
  const params =
    change === null
      ? null
      : Object.fromEntries(
          Object.entries({ ...answer.kv_transfer_params, ...change }).filter(([, value]) => value !== undefined),
        );
  return json({ ...answer, kv_transfer_params: params });
}

describe('NIXL', () => {
  it.each([
    ['p_01_prefill', 'd_02_decode', COMPLETIONS],
    ['p_03_prefill_chat', 'd_04_decode_chat_stream', CHAT],
  ])('asks as recorded: %s, then %s', async (first, second, path) => {
    const made = await stand('nixl', { prefill: recorded(NIXL, first), decode: recorded(NIXL, second) });
    const wanted = requestBody(NIXL, second);
    const { kv_transfer_params: params, ...client } = wanted;
    const answer = await send(made.url, path, JSON.stringify(client));
    expect(answer.body).toBe(recording(NIXL, second).answer.body.toString());
    // Null says no more than a missing member.
    const { stream_options: options = null, ...leg } = bodyOf(made.prefill);
    expect([options, leg]).toEqual([null, { stream: false, ...requestBody(NIXL, first) }]);
    expect(bodyOf(made.decode)).toEqual(wanted);
    const [raw] = asked(made.decode);
    const verbatim = recording(NIXL, first).answer.body.toString().split('"kv_transfer_params":')[1]!.split(',"ec_transfer')[0]!;
    expect(raw!.body).toContain(`"kv_transfer_params":${verbatim}`);
    expect(params).toEqual(JSON.parse(verbatim));
    expect(asked(made.prefill)[0]!.headers['x-request-id']).not.toBe(raw!.headers['x-request-id']);
  });

  it('B34: leaves nothing in the prefill leg that one token of one choice cannot have, and changes no sampling', async () => {
    const made = await stand('nixl', { prefill: handing({}), decode: document });
    const sampling = {
      temperature: 0.7,
      top_p: 0.9,
      seed: 12345678901234567890n.toString(),
      stop: ['x'],
      logprobs: true,
      tools: [],
    };
    const limits = {
      max_tokens: 50,
      max_completion_tokens: 60,
      min_tokens: 5,
      stream: true,
      stream_options: { include_usage: true },
    };
    await send(made.url, CHAT, JSON.stringify({ model: 'tiny', messages: [], ...sampling, ...limits }));
    const { kv_transfer_params: _asked, ...leg } = bodyOf(made.prefill);
    expect(leg).toEqual({
      model: 'tiny',
      messages: [],
      ...sampling,
      max_tokens: 1,
      max_completion_tokens: 1,
      min_tokens: 0,
      stream: false,
      stream_options: null,
    });
    const { kv_transfer_params: _told, ...answered } = bodyOf(made.decode);
    expect(answered).toEqual({ model: 'tiny', messages: [], ...sampling, ...limits });
  });

  it('never passes on what a client says of KV, and tells both legs the adapter', async () => {
    const made = await stand('nixl', { prefill: handing({}), decode: document });
    const evil = { kv_transfer_params: { do_remote_prefill: true }, bootstrap_room: 1, data_parallel_rank: 3 };
    const answer = await send(made.url, COMPLETIONS, JSON.stringify({ model: 'lora-a', prompt: 'x', ...evil }));
    expect(answer.status).toBe(200);
    for (const engine of [made.prefill, made.decode]) {
      expect(bodyOf(engine)).toMatchObject({ model: 'lora-a', prompt: 'x' });
      expect(bodyOf(engine)).not.toHaveProperty('bootstrap_room');
      expect(bodyOf(engine)).not.toHaveProperty('data_parallel_rank');
    }
    expect((bodyOf(made.prefill).kv_transfer_params as Body).do_remote_decode).toBe(true);
    expect((bodyOf(made.decode).kv_transfer_params as Body).remote_port).toBe(5600);
  });

  it.each<[string, Readonly<Record<string, unknown>> | null]>([
    ['none', null],
    ['no blocks, which kills decode', { remote_block_ids: undefined }],
    ['no host, on which decode hangs', { remote_host: undefined }],
    ['no port', { remote_port: 'x' }],
    ['no engine', { remote_engine_id: '' }],
    ["another host than prefill's", { remote_host: '10.9.9.9' }],
    ['parameters of a prefill leg', { do_remote_prefill: false }],
  ])('sends decode the plain request when prefill tells %s', async (_name, change) => {
    const made = await stand('nixl', { prefill: handing(change), decode: document });
    expect((await send(made.url, COMPLETIONS, prompt())).status).toBe(200);
    expect(bodyOf(made.decode)).toEqual({ model: 'tiny', prompt: 'a b c' });
    const page = await metricsOf(made);
    expect(page).toContain('kvasir_router_prefills_skipped_total{model_server="default/server",reason="nothing-handed"} 1');
    expect(page.includes('kvasir_router_hand_offs_pending{model_server="default/server"} 1')).toBe(change !== null);
  });

  it('names the pod where prefill says that it listens everywhere, as in the examples of Kthena', async () => {
    const made = await stand('nixl', { prefill: handing({ remote_host: '0.0.0.0' }), decode: document });
    await send(made.url, COMPLETIONS, prompt());
    const { kv_transfer_params: recordedParams } = JSON.parse(recording(NIXL, 'p_01_prefill').answer.body.toString()) as Body;
    expect(bodyOf(made.decode).kv_transfer_params).toEqual({ ...(recordedParams as Body), remote_host: '127.0.0.1' });
  });

  it("counts decode's 500 against both pods: another pair is tried with a new prefill, and parameters are not used twice", async () => {
    let made1 = 0;
    const made = await stand(
      'nixl',
      {
        prefill: (request, response, message) => handing({ remote_request_id: `id-${made1++}` })(request, response, message),
        decode: recorded(NIXL, 'd_19_unreachable_prefill'),
      },
      { config: { retry: { attempts: 2, intervalMs: 1, budgetRatio: 1 } } },
    );
    const [p1, d1] = [
      await new TestEngine(handing({ remote_request_id: 'other' })).start(),
      await new TestEngine(document).start(),
    ];
    // The first pair is all there is at first.
    for (let i = 0; i < 5; i++) expect((await send(made.url, COMPLETIONS, prompt())).status).toBe(500);
    made.cluster.put(pdPod('prefill-1', 'prefill', { http: p1.port }, kindNamed('nixl')));
    made.cluster.put(pdPod('decode-1', 'decode', { http: d1.port }, kindNamed('nixl')));
    for (let i = 0; i < 6; i++) expect((await send(made.url, COMPLETIONS, prompt())).status).toBe(200);
    const ids = asked(made.decode).map((_, i) => (bodyOf(made.decode, i).kv_transfer_params as Body).remote_request_id);
    expect(new Set(ids).size).toBe(ids.length);
    const ejected = made.router.endpoints.all().filter(({ isEjected }) => isEjected);
    expect(ejected.map(({ endpoint }) => endpoint.pod.name).sort()).toEqual(['decode-0', 'prefill-0']);
    await p1.kill();
    await d1.kill();
  });

  it("gives the client prefill's own 4xx, and does not ask decode", async () => {
    const refusal = '{"error":{"message":"too long","type":"BadRequestError","param":null,"code":400}}';
    const made = await stand('nixl', {
      prefill: (_request, response) => response.writeHead(400, { 'content-type': 'application/json' }).end(refusal),
      decode: document,
    });
    const answer = await send(made.url, COMPLETIONS, prompt());
    expect([answer.status, answer.body, asked(made.decode).length]).toEqual([400, refusal, 0]);
  });

  it.each([
    ['/v1/responses', { input: 'x' }, 'path'],
    [CHAT, { messages: [], n: 3 }, 'several'],
    [COMPLETIONS, { prompt: ['a', 'b'] }, 'several'],
    [COMPLETIONS, { prompt: [[1, 2], [3]] }, 'several'],
    [COMPLETIONS, { prompt: 'x', echo: true }, 'prompt-tokens'],
    [CHAT, { messages: [], prompt_logprobs: 0 }, 'prompt-tokens'],
  ])('sends decode alone what has no hand-off: %s %j', async (path, body, reason) => {
    const made = await stand('nixl', { prefill: handing({}), decode: document });
    await send(made.url, path, JSON.stringify({ model: 'tiny', ...body }));
    expect([asked(made.prefill).length, asked(made.decode).length]).toEqual([0, 1]);
    expect(bodyOf(made.decode)).not.toHaveProperty('kv_transfer_params');
    expect(await metricsOf(made)).toContain(`reason="${reason}"} 1`);
  });

  it.each([{ prompt: [1, 2, 3] }, { prompt: ['one'] }, { prompt: 'x', n: 1, best_of: null, echo: false, prompt_logprobs: null }])(
    'hands over what is one generation: %j',
    async (body) => {
      const made = await stand('nixl', { prefill: handing({}), decode: document });
      await send(made.url, COMPLETIONS, JSON.stringify({ model: 'tiny', ...body }));
      expect(bodyOf(made.decode)).toHaveProperty('kv_transfer_params');
    },
  );

  it('gives decode what is left of the time to the first byte', async () => {
    const made = await stand(
      'nixl',
      { prefill: handing({}), decode: () => undefined },
      { config: { deadlines: { firstByteMs: 400 } } },
    );
    const from = performance.now();
    expect((await send(made.url, COMPLETIONS, prompt())).status).toBe(504);
    expect(performance.now() - from).toBeLessThan(2_000);
    expect(await metricsOf(made)).toContain('kvasir_router_hand_offs_pending{model_server="default/server"} 1');
  });

  it('explains the pair: candidates of both roles and the cost of each pair', async () => {
    const made = await stand('nixl', { prefill: handing({}), decode: document }, { config: { explain: { header: true } } });
    const answer = await send(made.url, COMPLETIONS, prompt(), { 'x-kvasir-explain': '1' });
    const decision = JSON.parse(String(answer.headers['x-kvasir-decision'])) as {
      endpoint: string;
      pairs: { prefill: string; decode: string; group: string; cost: number }[];
      candidates: { endpoint: string; terms: object }[];
      prefill: { candidates: { endpoint: string; terms: object; cost: number }[] };
    };
    const [p, d] = ['default/prefill-0#uid-prefill-0', 'default/decode-0#uid-decode-0'];
    expect(decision).toMatchObject({ endpoint: d, pairs: [{ prefill: p, decode: d, group: 'a' }] });
    expect(decision.candidates.map(({ endpoint }) => endpoint)).toEqual([d]);
    expect(Object.keys(decision.candidates[0]!.terms)).toContain('link-time');
    expect(decision.prefill.candidates.map(({ endpoint }) => endpoint)).toEqual([p]);
    expect(decision.pairs[0]!.cost).toBeGreaterThan(decision.prefill.candidates[0]!.cost);
  });
});

describe('SGLang', () => {
  it.each([
    ['01_completions', COMPLETIONS],
    ['02_chat_stream', CHAT],
  ])('gives both legs the same room at the same time: %s', async (name, path) => {
    const made = await stand('sglang', { prefill: recorded(SGLANG, 'p_01_completions'), decode: recorded(SGLANG, `d_${name}`) });
    const { bootstrap_host: host, bootstrap_port: _port, bootstrap_room: _room, ...client } = requestBody(SGLANG, `d_${name}`);
    const answer = await send(made.url, path, JSON.stringify(client));
    expect(answer.body).toBe(recording(SGLANG, `d_${name}`).answer.body.toString());
    const [p, d] = [bodyOf(made.prefill), bodyOf(made.decode)];
    expect(d).toMatchObject({ ...client, bootstrap_host: host, bootstrap_port: 7000 });
    const { stream: _s, stream_options: _o, ...same } = client as Record<string, unknown>;
    expect(p).toMatchObject({ ...same, max_tokens: 1, bootstrap_host: host, bootstrap_port: 7000 });
    expect(p.stream ?? false).toBe(false);
    expect(p.bootstrap_room).toBe(d.bootstrap_room);
    expect(Number.isSafeInteger(p.bootstrap_room)).toBe(true);
  });

  it('has a room of its own for each request, which belongs to the rank whose turn it is', async () => {
    const made = await stand('sglang', { prefill: document, decode: document }, { prefillArgs: ['--dp-size', '4'] });
    for (let i = 0; i < 8; i++) await send(made.url, COMPLETIONS, prompt());
    const rooms = asked(made.decode).map((_, i) => Number(bodyOf(made.decode, i).bootstrap_room));
    expect(new Set(rooms).size).toBe(8);
    expect(rooms.map((room) => room % 4)).toEqual([0, 1, 2, 3, 0, 1, 2, 3]);
  });

  it('closes prefill when decode fails, and answers with what decode said', async () => {
    const made = await stand('sglang', { prefill: () => undefined, decode: recorded(SGLANG, 'd_07_unreachable_prefill') });
    const answer = await send(made.url, COMPLETIONS, prompt());
    expect([answer.status, answer.body.includes('Decode handshake failed')]).toEqual([500, true]);
    await until(() => made.prefill.active === 0, 'prefill was closed');
  });

  it('refuses by the error event of a stream whose prefill died', async () => {
    const made = await stand('sglang', {
      prefill: () => undefined,
      decode: recorded('sglang-0.5.23/pd-prefill-died', 'd_02_chat_stream'),
    });
    const answer = await send(made.url, CHAT, JSON.stringify({ model: 'tiny', messages: [], stream: true }));
    expect([answer.status, answer.body.includes('Decode handshake failed')]).toEqual([500, true]);
  });

  it('closes decode when prefill fails', async () => {
    const made = await stand('sglang', {
      prefill: (_request, response) => response.writeHead(503).end('busy'),
      decode: () => undefined,
    });
    expect((await send(made.url, COMPLETIONS, prompt())).status).toBe(503);
    await until(() => made.decode.active === 0, 'decode was closed');
  });

  it('B9: a prefill that fails after decode answered changes nothing', async () => {
    const made = await stand('sglang', {
      prefill: (_request, response) => void setTimeout(() => response.socket?.resetAndDestroy(), 50),
      decode: (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"choices":[{"text":"a"}]}\n\n');
        setTimeout(() => response.end('data: {"choices":[{"text":"b"}]}\n\ndata: [DONE]\n\n'), 150);
      },
    });
    const answer = await send(made.url, COMPLETIONS, prompt({ stream: true }));
    expect(answer.body).toBe('data: {"choices":[{"text":"a"}]}\n\ndata: {"choices":[{"text":"b"}]}\n\ndata: [DONE]\n\n');
    expect(asked(made.prefill)).toHaveLength(1);
  });
});

describe('Mooncake on vLLM', () => {
  const bootstrap = (ids: readonly string[]): Promise<TestEngine> =>
    new TestEngine(json(Object.fromEntries(ids.map((engine_id, rank) => [rank, { engine_id, worker_addr: {} }])))).start();

  it("names one transfer to both legs, with prefill's engine as its bootstrap server tells it", async () => {
    const server = await bootstrap(['engine-a', 'engine-b']);
    const made = await stand('mooncake', { prefill: document, decode: document }, { kv: server.port });
    for (let i = 0; i < 2; i++) await send(made.url, COMPLETIONS, prompt());
    const legs = [0, 1].map(
      (i) => [bodyOf(made.prefill, i).kv_transfer_params, bodyOf(made.decode, i).kv_transfer_params] as Body[],
    );
    for (const [i, [p, d]] of legs.entries()) {
      const { transfer_id: id, ...rest } = p!;
      expect(typeof id).toBe('string');
      expect(rest).toEqual({ do_remote_decode: true, do_remote_prefill: false });
      expect(d).toEqual({
        do_remote_prefill: true,
        do_remote_decode: false,
        remote_engine_id: ['engine-a', 'engine-b'][i],
        remote_bootstrap_addr: `http://127.0.0.1:${server.port}`,
        transfer_id: id,
      });
      expect(asked(made.prefill)[i]!.headers['x-data-parallel-rank']).toBe(String(i));
      expect(asked(made.decode)[i]!.headers['x-data-parallel-rank']).toBeUndefined();
    }
    expect(legs[0]![0]!.transfer_id).not.toBe(legs[1]![0]!.transfer_id);
    expect(server.received.map(({ url }) => url)).toEqual(['/query']);
    await server.kill();
  });

  it('asks again after a failure, since the engine may have been started anew', async () => {
    const server = await bootstrap(['engine-a']);
    const made = await stand(
      'mooncake',
      { prefill: document, decode: recorded(NIXL, 'd_19_unreachable_prefill') },
      { kv: server.port },
    );
    for (let i = 0; i < 2; i++) expect((await send(made.url, COMPLETIONS, prompt())).status).toBe(500);
    expect(server.received).toHaveLength(2);
    await server.kill();
  });

  it('counts a bootstrap server that does not answer as a prefill that does not', async () => {
    const made = await stand('mooncake', { prefill: document, decode: document }, { kv: 1 });
    expect((await send(made.url, COMPLETIONS, prompt())).status).toBe(503);
    expect([asked(made.prefill).length, asked(made.decode).length]).toEqual([0, 0]);
  });
});

describe('a store that both pods reach', () => {
  it('needs nothing in the requests, and one prefill for all choices', async () => {
    const made = await stand('lmcache', { prefill: document, decode: document });
    await send(made.url, CHAT, JSON.stringify({ model: 'tiny', messages: [], n: 3, max_tokens: 9 }));
    expect(bodyOf(made.prefill)).toEqual({
      model: 'tiny',
      messages: [],
      n: 1,
      max_tokens: 1,
      max_completion_tokens: 1,
      stream: false,
    });
    expect(bodyOf(made.decode)).toEqual({ model: 'tiny', messages: [], n: 3, max_tokens: 9 });
  });
});
