import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { RouterCluster } from '../../runtime/cluster/cluster';
import type { Kind, KindMap, ObjectQuery } from '../../runtime/cluster/objects';
import type { WakeSignal } from '../../runtime/cluster/wake-signal';
import type { Clock } from '../../runtime/lib/clock';
import { silentLogger } from '../../runtime/lib/logger';
import { seededRandom } from '../../runtime/lib/random';
import { wallClock } from '../../runtime/lib/wall-clock';
import type { AccessRecord } from '../../runtime/router/observability/access-record';
import { type RouterOptions, type RunningRouter, startRouter } from '../../runtime/router/router';
import type { KubeObject } from '../../src/api/meta';
import { keyOf } from '../../src/api/meta';
import { defaultRouterConfig, type RouterConfig } from '../../src/config/router-config';

/** A cluster view that a test writes to. */
export class MemoryCluster implements RouterCluster {
  private readonly store = new Map<Kind, Map<string, KubeObject>>();
  private readonly listeners = new Map<Kind, Set<(keys: ReadonlySet<string>) => void>>();
  isSynced = true;
  wake?: WakeSignal;
  private readonly secretStore = new Map<string, { readonly label: string; readonly data: Readonly<Record<string, Buffer>> }>();
  private readonly secretListeners = new Set<() => void>();
  readonly secrets = {
    byLabel: (key: string, value: string) =>
      new Map(
        [...this.secretStore].flatMap(([name, { label, data }]) => (label === `${key}=${value}` ? [[name, data] as const] : [])),
      ),
    changed: (listener: () => void): (() => void) => {
      this.secretListeners.add(listener);
      return () => this.secretListeners.delete(listener);
    },
  };
  readonly objects = {
    list: <K extends Kind>(kind: K, query: ObjectQuery = {}): readonly KindMap[K][] =>
      ([...(this.store.get(kind)?.values() ?? [])] as unknown as KindMap[K][]).filter(
        ({ metadata }) => query.namespace === undefined || metadata.namespace === query.namespace,
      ),
    get: <K extends Kind>(kind: K, namespace: string, name: string): KindMap[K] | undefined =>
      this.store.get(kind)?.get(`${namespace}/${name}`) as unknown as KindMap[K] | undefined,
    changed: (kind: Kind, listener: (keys: ReadonlySet<string>) => void): (() => void) => {
      const set = this.listeners.get(kind) ?? new Set();
      this.listeners.set(kind, set);
      set.add(listener);
      return () => set.delete(listener);
    },
    freshness: () => ({ isSynced: this.isSynced, ageMs: 0 }),
  };

  put(object: KubeObject): void {
    const kind = object.kind as Kind;
    if (!this.store.has(kind)) this.store.set(kind, new Map());
    this.store.get(kind)!.set(keyOf(object), object);
    this.notify(kind, keyOf(object));
  }

  remove(kind: Kind, namespace: string, name: string): void {
    this.store.get(kind)?.delete(`${namespace}/${name}`);
    this.notify(kind, `${namespace}/${name}`);
  }

  /** @param name `namespace/name`. @param label `key=value`. @param data undefined removes the Secret. */
  putSecret(name: string, label: string, data: Readonly<Record<string, string>> | undefined): void {
    if (data === undefined) this.secretStore.delete(name);
    else {
      const bytes = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value)]));
      this.secretStore.set(name, { label, data: bytes });
    }
    for (const listener of this.secretListeners) listener();
  }

  private notify(kind: Kind, key: string): void {
    for (const listener of this.listeners.get(kind) ?? []) listener(new Set([key]));
  }
}

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** An engine of a test: what it got, and how it answers. */
export class TestEngine {
  readonly received: ReceivedRequest[] = [];
  /** Answers under way. */
  active = 0;
  /** What it says of itself. */
  metricsPage = 'vllm:num_requests_running{model_name="m"} 0\n';
  /** Takes the place of `metricsPage`. */
  metricsAnswer: ((response: ServerResponse) => void) | undefined;
  protected server: Server | undefined;
  private readonly sockets = new Set<Socket>();
  port = 0;

  /** @param tls its key and certificate. @default it speaks plain HTTP */
  constructor(
    public answer: (request: ReceivedRequest, response: ServerResponse, message: IncomingMessage) => void,
    private readonly tls?: { readonly key: string; readonly cert: string },
  ) {}

  async start(port = 0): Promise<this> {
    const listener = (message: IncomingMessage, response: ServerResponse): void => {
      if (message.url === '/metrics') {
        if (this.metricsAnswer === undefined) response.end(this.metricsPage);
        else this.metricsAnswer(response);
        return;
      }
      // The router's own question, beside the scrapes of engines behind routes with adapters.
      if (message.method === 'GET' && message.url === '/v1/models') {
        response.end('{}');
        return;
      }
      const chunks: Buffer[] = [];
      message.on('data', (chunk: Buffer) => chunks.push(chunk));
      message.on('end', () => {
        const request = {
          method: message.method!,
          url: message.url!,
          headers: message.headers,
          body: Buffer.concat(chunks).toString(),
        };
        this.received.push(request);
        this.active += 1;
        response.on('close', () => {
          this.active -= 1;
        });
        this.answer(request, response, message);
      });
    };
    const server = this.tls === undefined ? createServer(listener) : createTlsServer(this.tls, listener);
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    return this;
  }

  /** Dies: every connection is reset, and none is taken. */
  async kill(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.sockets) socket.resetAndDestroy();
    await closed;
  }

  /** Closes connections that carry nothing, as engines do with idle ones. */
  resetConnections(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }
}

export const MODEL = 'm';

export function modelServer(name: string, spec: Partial<KindMap['ModelServer']['spec']> = {}): KubeObject {
  return {
    apiVersion: 'networking.serving.volcano.sh/v1alpha1',
    kind: 'ModelServer',
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      model: MODEL,
      inferenceEngine: 'vLLM',
      workloadSelector: { matchLabels: { app: name } },
      workloadPort: { port: 8000, protocol: 'http' },
      ...spec,
    },
  } as KubeObject;
}

export function modelRoute(name: string, modelServerName: string, spec: Partial<KindMap['ModelRoute']['spec']> = {}): KubeObject {
  return {
    apiVersion: 'networking.serving.volcano.sh/v1alpha1',
    kind: 'ModelRoute',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { modelName: MODEL, rules: [{ name: 'all', targetModels: [{ modelServerName, weight: 100 }] }], ...spec },
  } as KubeObject;
}

export function pod(name: string, app: string, port: number, uid = `uid-${name}`): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid, labels: { app }, annotations: { 'kvasir.dev/port-map': `8000=${port}` } },
    spec: { containers: [{ name: 'engine' }] },
    status: { phase: 'Running', podIP: '127.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
  } as KubeObject;
}

/** A configuration with parts replaced. */
export function routerConfig(parts: { [K in keyof RouterConfig]?: Partial<RouterConfig[K]> } = {}): RouterConfig {
  const base = defaultRouterConfig() as unknown as Record<string, unknown>;
  const quiet: Record<string, unknown> = { ...base, accessLog: { ...(base.accessLog as object), enabled: false } };
  for (const [key, value] of Object.entries(parts)) {
    quiet[key] = Array.isArray(value) || typeof value !== 'object' ? value : { ...(quiet[key] as object), ...value };
  }
  return quiet as unknown as RouterConfig;
}

export interface TestRouter {
  readonly router: RunningRouter;
  readonly cluster: MemoryCluster;
  readonly records: AccessRecord[];
  readonly url: string;
}

export interface TestRouterOptions {
  readonly engines: readonly Pick<TestEngine, 'port'>[];
  readonly config?: RouterConfig;
  readonly server?: Partial<KindMap['ModelServer']['spec']>;
  readonly route?: Partial<KindMap['ModelRoute']['spec']>;
  readonly clock?: Clock;
  readonly wake?: WakeSignal;
  /** @default a free port on loopback */
  readonly debugListen?: RouterOptions['debugListen'];
  /** Log and access log, where a test reads them. */
  readonly logs?: Pick<RouterOptions, 'log' | 'accessLogDestination' | 'usageDestination' | 'decisionLogDestination'>;
}

/** A router in front of engines, on free loopback ports, ready to serve. */
export async function startTestRouter(options: TestRouterOptions): Promise<TestRouter> {
  const cluster = new MemoryCluster();
  if (options.wake !== undefined) cluster.wake = options.wake;
  cluster.put(modelServer('server', options.server));
  cluster.put(modelRoute('route', 'server', options.route));
  options.engines.forEach((engine, index) => {
    cluster.put(pod(`pod-${index}`, 'server', engine.port));
  });
  const records: AccessRecord[] = [];
  const any = { host: '127.0.0.1', port: 0 };
  const router = await startRouter({
    cluster,
    clock: options.clock ?? wallClock(),
    random: seededRandom(1),
    config: options.config ?? routerConfig(),
    listen: any,
    metricsListen: any,
    debugListen: options.debugListen ?? any,
    log: silentLogger(),
    ...options.logs,
    onRequest: (record) => records.push(record),
  });
  await router.whenReady();
  return { router, cluster, records, url: `http://127.0.0.1:${router.address.port}` };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** One request on a connection of its own. Resolves with the answer as far as it came; `isCut` tells that a part is missing. */
export function send(
  url: string,
  path: string,
  body?: string | Buffer,
  headers: Record<string, string> = {},
  method = body === undefined ? 'GET' : 'POST',
): Promise<Answer & { readonly isCut: boolean }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${path}`, {
      method,
      agent: false,
      headers:
        body === undefined
          ? headers
          : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      const finish = (isCut: boolean): void =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks).toString(), isCut });
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => finish(false));
      response.on('error', () => finish(true));
    });
    request.end(body);
  });
}

export function chatBody(extra: object = {}): string {
  return JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'hello' }], ...extra });
}

/** Waits in real time until `condition` holds. */
export async function until(condition: () => boolean, what: string, timeoutMs = 5_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
