import { connect } from 'node:net';
import fc from 'fast-check';
import { canonicalPath } from '../../runtime/router/request/api-paths';
import { Labels } from '../../src/labels';
import { FORBIDDEN, type HostileRequest, hostileRequest, MARK } from './hostile-requests';
import { AUTHORITY_FILE, CREDENTIAL_LABEL, providerObject, testProvider } from './provider-harness';
import { parseAnswer } from './raw-http';
import { chatBody, modelRoute, modelServer, pod, routerConfig, send, startTestRouter, TestEngine, until } from './router-harness';

export interface HostileReport {
  readonly requests: number;
  readonly seconds: number;
  /** How many requests of each kind were answered with each status; `0`: the connection was closed without an answer. */
  readonly statuses: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Requests that an engine got. */
  readonly dispatched: number;
  /** Of those, requests whose blocks are kept in the cache of the client's own tenant. */
  readonly salted: number;
}

const RED = 'sk-red-00000000000000000000';
const BLUE = 'sk-blue-0000000000000000000';
/** A model whose route keeps tenants apart. */
const ISOLATED = 'isolated';
/** Longest that any of these requests may take; the deadline below is a fraction of it. */
const HANG_MS = 8_000;
const BODY_MS = 250;

/** How long the answer to a request may take before its client leaves; some requests have an end that never comes. */
const PATIENCE_MS = 4_000;

/** Requests of one property run; they go out together. */
const BATCH = 100;

const ENGINE_PATHS =
  /^\/(?:v1\/(?:chat\/completions|completions|responses(?:\/[A-Za-z0-9_-]+(?:\/cancel)?)?|messages|messages\/count_tokens|embeddings|rerank|score|audio\/(?:speech|transcriptions|translations))|tokenize|detokenize)(?:\?.*)?$/;
/** Where engines cache nothing of a prompt. */
const UNCACHED_PATHS = /^\/(?:tokenize|detokenize|v1\/messages\/count_tokens|v1\/audio\/speech|v1\/responses\/)/;
const FORBIDDEN_HEADERS = [
  ...[
    'authorization',
    'x-api-key',
    'cookie',
    'x-data-parallel-rank',
    'x-prefiller-host-port',
    'x-bootstrap-room',
    'x-kvasir-tenant',
  ],
  ...['x-kvasir-explain', 'x-forwarded-for', 'forwarded', 'te', 'upgrade', 'transfer-encoding', 'content-encoding', 'expect'],
];

/**
 * Sends random and hostile requests to a router over sockets of their own, and checks after each batch that nobody got a 500, nothing
 * hangs, the router gives everything back and still serves, and engines saw no forbidden path, member or header, nor a prompt for the cache
 * of another tenant than the client's.
 *
 * @param count rounded up to whole batches. @throws Error with the seed and the request when one of these does not hold.
 */
export async function runHostile(count: number, seed: number): Promise<HostileReport> {
  let made = 0;
  const answer: TestEngine['answer'] = ({ url }, response) => {
    made += 1;
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        id: `${url.startsWith('/v1/responses') ? 'resp' : 'x'}_${made}`,
        usage: { prompt_tokens: 3, completion_tokens: 2 },
      }),
    );
  };
  const engine = await new TestEngine(answer).start();
  const isolated = await new TestEngine(answer).start();
  const provider = await testProvider((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"type":"message","id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}');
  });
  const { router, cluster, records, url } = await startTestRouter({
    engines: [engine],
    config: routerConfig({
      deadlines: { requestBodyMs: BODY_MS },
      providers: { caFile: AUTHORITY_FILE },
      auth: {
        required: true,
        apiKeys: { secretLabel: Labels.apiKeys, secrets: [], header: 'x-api-key' },
      } as never,
    }),
  });
  const statuses: Record<string, Record<string, number>> = {};
  let dispatched = 0;
  let salted = 0;
  const startedMs = Date.now();
  try {
    cluster.putSecret('default/cloud-secret', CREDENTIAL_LABEL, { token: 'sk-cloud' });
    cluster.put(providerObject('cloud', `https://127.0.0.1:${provider.port}`, { providerType: 'Anthropic' }));
    cluster.put(
      modelRoute('cloud', '', {
        modelName: 'cloud',
        rules: [{ name: 'all', targetModels: [{ externalModelProviderName: 'cloud', weight: 100 }] }],
      }),
    );
    cluster.put(modelServer('isolated'));
    cluster.put(pod('isolated-0', 'isolated', isolated.port));
    cluster.put(modelRoute('isolated', 'isolated', { modelName: ISOLATED, tenantIsolation: { salt: 'tenant' } }));
    cluster.putSecret('default/keys', `${Labels.apiKeys}=true`, {
      red: JSON.stringify({ key: RED, tenant: 'red' }),
      blue: JSON.stringify({ key: BLUE, tenant: 'blue' }),
    });
    const ask = (key: string) => send(url, '/v1/responses', '{"model":"m","input":"a"}', { authorization: `Bearer ${key}` });
    await until(() => router.isReady(), 'the router is ready');
    const ids = await Promise.all([ask(RED), ask(BLUE)]);
    const [red, blue] = ids.map(({ body }) => (JSON.parse(body) as { id: string }).id);
    const own = { authorization: `Bearer ${BLUE}` };
    await send(url, '/v1/chat/completions', chatBody({ model: ISOLATED }), own);
    const salt = (JSON.parse(isolated.received[0]!.body) as { cache_salt: string }).cache_salt;
    const targets = {
      models: ['m', 'm', 'm', ISOLATED, ISOLATED, 'cloud'],
      keys: [BLUE],
      responseIds: [red!, blue!, 'resp_none'],
    };
    const port = Number(new URL(url).port);
    const property = fc.asyncProperty(
      fc.array(hostileRequest(targets), { minLength: BATCH, maxLength: BATCH }),
      async (requests) => {
        engine.received.length = 0;
        isolated.received.length = 0;
        provider.received.length = 0;
        records.length = 0;
        const answers = await Promise.all(requests.map((each) => deliver(port, each)));
        requests.forEach(({ kind }, index) => {
          const status = String(answers[index]!.statuses[0] ?? 0);
          statuses[kind] ??= {};
          statuses[kind][status] = (statuses[kind][status] ?? 0) + 1;
        });
        const hung = answers.findIndex(({ hung }) => hung);
        if (hung !== -1) throw new Error(`no answer in ${HANG_MS} ms to ${show(requests[hung]!)}`);
        const silent = answers.findIndex(
          ({ statuses: [status] }, index) => status === undefined && !asksNothing(requests[index]!),
        );
        if (silent !== -1) throw new Error(`closed without an answer: ${show(requests[silent]!)}`);
        const failed = answers.findIndex((each) => each.statuses.some((status) => status === 500 || status > 503));
        if (failed !== -1) throw new Error(`${answers[failed]!.statuses.join(' ')} for ${show(requests[failed]!)}`);
        const fault = records.find(({ error }) => error?.type === 'internal');
        if (fault !== undefined) throw new Error(`an unforeseen error: ${JSON.stringify(fault)}`);
        for (const received of engine.received) {
          dispatched += 1;
          const wrong = wrongAtEngine(received, red!);
          if (wrong !== undefined) throw new Error(`${wrong} reached an engine: ${JSON.stringify(received).slice(0, 2_000)}`);
        }
        for (const received of isolated.received) {
          dispatched += 1;
          salted += received.body.includes(salt) ? 1 : 0;
          const wrong = wrongAtEngine(received, red!, salt);
          if (wrong !== undefined) throw new Error(`${wrong} reached an engine: ${JSON.stringify(received).slice(0, 2_000)}`);
        }
        const told = provider.received.find(({ body }) => body.includes(MARK));
        if (told !== undefined) throw new Error(`a forbidden member reached a provider: ${told.body.slice(0, 2_000)}`);
        await until(() => Object.values(router.load()).every((value) => value === 0), 'the router gave everything back');
        const after = await send(url, '/v1/chat/completions', chatBody(), { authorization: `Bearer ${RED}` });
        if (after.status !== 200) throw new Error(`a good request afterwards: ${after.status} ${after.body}`);
      },
    );
    const { failed, numRuns, errorInstance } = await fc.check(property, {
      seed,
      numRuns: Math.ceil(count / BATCH),
      endOnFailure: true,
    });
    if (failed) {
      const what = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
      throw new Error(`seed ${seed}, batch ${numRuns}: ${what}`);
    }
  } finally {
    await router.close();
    await engine.kill();
    await isolated.kill();
    await provider.kill();
  }
  const requests = Object.values(statuses)
    .flatMap((each) => Object.values(each))
    .reduce((sum, each) => sum + each, 0);
  return { requests, seconds: (Date.now() - startedMs) / 1000, statuses, dispatched, salted };
}

interface Delivered {
  readonly statuses: readonly number[];
  readonly hung: boolean;
}

/**
 * Sends a request's pieces and waits until the router closes the connection. The sender's side ends when an answer is complete, or, for a
 * request that the router may still wait for the rest of, after a while; not before, since that is how clients leave.
 */
function deliver(port: number, { pieces, pauseMs, holds }: HostileRequest): Promise<Delivered> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    let text = '';
    let leaving: NodeJS.Timeout | undefined;
    const timer = setTimeout(() => finish(true), HANG_MS);
    const finish = (hung: boolean): void => {
      clearTimeout(timer);
      clearTimeout(leaving);
      socket.destroy();
      resolve({ statuses: [...text.matchAll(STATUS_LINE)].map((each) => Number(each[1])).filter((each) => each >= 200), hung });
    };
    const leaveAfter = (ms: number): void => {
      clearTimeout(leaving);
      leaving = setTimeout(() => socket.end(), ms);
    };
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const answer = text.replace(CONTINUE, '');
      // A moment for the answer to what may be hidden behind the request.
      if (parseAnswer(Buffer.from(answer, 'latin1')).isComplete) leaveAfter(3);
    });
    socket.on('end', () => finish(false));
    socket.on('close', () => finish(false));
    socket.on('error', () => undefined);
    const next = (index: number): void => {
      if (index === pieces.length) {
        if (!holds) leaveAfter(PATIENCE_MS);
        return;
      }
      socket.write(pieces[index]!);
      if (pauseMs === 0 || index + 1 === pieces.length) next(index + 1);
      else setTimeout(() => next(index + 1), pauseMs);
    };
    next(0);
  });
}

const CONTINUE = /^HTTP\/1\.1 100 Continue\r\n\r\n/;
const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) /gm;

/**
 * What of a request that an engine got should not have come so far.
 *
 * @param salt of the client's tenant, where the route keeps tenants apart.
 */
function wrongAtEngine(
  { method, url, headers, body }: TestEngine['received'][number],
  redResponse: string,
  salt?: string,
): string | undefined {
  if (!ENGINE_PATHS.test(url)) return `the path ${url}`;
  if (canonicalPath(url) === undefined) return `a path that is not canonical, ${url}`;
  if (method !== 'POST' && !url.startsWith('/v1/responses/')) return `${method} ${url}`;
  // Other APIs know no such member.
  const goesOnFrom = url === '/v1/responses' ? body : '';
  if (url.includes(`/${redResponse}`) || goesOnFrom.includes(`"previous_response_id":"${redResponse}"`)) {
    return "another tenant's response";
  }
  if (body.includes(MARK)) return 'a forbidden member';
  const header = FORBIDDEN_HEADERS.find((name) => headers[name] !== undefined);
  if (header !== undefined) return `the header ${header}`;
  // Text, since a body that cannot be read here may be read by an engine.
  if (salt !== undefined && !UNCACHED_PATHS.test(url) && body.split(`"cache_salt":"${salt}"`).length !== 2) {
    return "a prompt of no tenant's or another tenant's cache";
  }
  let document: unknown;
  try {
    document = JSON.parse(body);
  } catch {
    return undefined; // An engine cannot read it either.
  }
  const keys = typeof document === 'object' && document !== null ? Object.keys(document) : [];
  // A second one would be the one that engines read: what is read here is the last.
  const isOwn = (key: string): boolean =>
    key === 'cache_salt' && salt !== undefined && (document as Record<string, unknown>)[key] === salt;
  const member = keys.find((key) => (FORBIDDEN.some((each) => each === key) && !isOwn(key)) || key.startsWith('bootstrap_'));
  return member === undefined ? undefined : `the member ${member}`;
}

/** CONNECT asks for nothing that a server without tunnels could answer, and empty lines before a request line are no request. */
function asksNothing({ pieces: [first] }: HostileRequest): boolean {
  const text = first?.toString('latin1') ?? '';
  return text.startsWith('CONNECT ') || /^[\r\n]*$/.test(text);
}

function show({ kind, pieces }: HostileRequest): string {
  return `${kind}: ${JSON.stringify(Buffer.concat([...pieces]).toString('latin1')).slice(0, 2_000)}`;
}
