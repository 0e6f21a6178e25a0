import type { KindMap } from '../../runtime/cluster/objects';
import type { Clock } from '../../runtime/lib/clock';
import { silentLogger } from '../../runtime/lib/logger';
import { seededRandom } from '../../runtime/lib/random';
import { wallClock } from '../../runtime/lib/wall-clock';
import type { AccessRecord } from '../../runtime/router/observability/access-record';
import { type RunningRouter, startRouter } from '../../runtime/router/router';
import type { RunningEngine, StartEngineOptions } from '../../runtime/simulator/index';
import type { KubeObject } from '../../src/api/meta';
import type { RouterConfig } from '../../src/config/router-config';
import type { EnginePlan } from '../../src/expand/engine-plan';
import { Labels } from '../../src/labels';
import { mooncake, NIXL, sglangRole } from './kv-plans';
import { parseFamilies } from './prometheus-text';
import { MemoryCluster, modelRoute, modelServer, routerConfig, send, until } from './router-harness';
import { startSimulated } from './simulated-engine';

export type PdRole = 'prefill' | 'decode';

/** One way of handing KV over, as engines and their pods have it. */
export interface PdKind {
  readonly name: string;
  readonly server: Partial<KindMap['ModelServer']['spec']>;
  readonly image: string;
  plan(role: PdRole): Partial<EnginePlan>;
  args(role: PdRole): readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** How long prefill keeps what nobody fetches; undefined: it keeps nothing. */
  readonly leaseMs: number | undefined;
  /** Whether decode may compute a prompt. */
  readonly canSkipPrefill: boolean;
}

const VLLM_IMAGE = 'vllm/vllm-openai:v0.32.0';
const transfer = (connector: string, role: PdRole, more: object = {}): readonly string[] => [
  '--kv-transfer-config',
  JSON.stringify({ kv_connector: connector, kv_role: role === 'prefill' ? 'kv_producer' : 'kv_consumer', ...more }),
];

export const PD_KINDS: readonly PdKind[] = [
  {
    name: 'nixl',
    server: { kvConnector: { type: 'nixl' } },
    image: VLLM_IMAGE,
    plan: () => ({ kvTransfer: NIXL }),
    args: (role) => transfer('NixlConnector', role),
    leaseMs: 30_000,
    canSkipPrefill: true,
  },
  {
    name: 'mooncake',
    server: { kvConnector: { type: 'mooncake' } },
    image: VLLM_IMAGE,
    plan: (role) => ({ kvTransfer: { ...mooncake(role === 'prefill'), abortSeconds: 40 } as EnginePlan['kvTransfer'] & object }),
    args: (role) => transfer('MooncakeConnector', role),
    env: { VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT: '40' },
    leaseMs: 40_000,
    canSkipPrefill: true,
  },
  {
    name: 'lmcache',
    server: { kvConnector: { type: 'lmcache' } },
    image: VLLM_IMAGE,
    plan: () => ({ kvTransfer: { connector: 'store', store: 'redis://kv', chunkTokens: 16 } }),
    args: (role) => transfer('LMCacheConnectorV1', role),
    env: { LMCACHE_REMOTE_URL: 'redis://kv', LMCACHE_CHUNK_SIZE: '16' },
    leaseMs: undefined,
    canSkipPrefill: true,
  },
  {
    name: 'sglang',
    // The defaulting of Kthena's webhook, which means nothing here.
    server: { inferenceEngine: 'SGLang', kvConnector: { type: 'http' } },
    image: 'lmsysorg/sglang:v0.5.23',
    plan: (role) => ({ ...sglangRole(role), servedModelNames: ['tiny'] }),
    args: (role) => ['--model-path', '/models/tiny', '--disaggregation-mode', role, '--port', '8000'],
    leaseMs: undefined,
    canSkipPrefill: false,
  },
];

export const kindNamed = (name: string): PdKind => PD_KINDS.find((kind) => kind.name === name)!;

/** A pod of a role. */
export function pdPod(
  name: string,
  role: PdRole,
  ports: { readonly http: number; readonly kv?: number | undefined },
  kind: Pick<PdKind, 'image' | 'args' | 'env'>,
  labels: Readonly<Record<string, string>> = {},
): KubeObject {
  const kv = ports.kv === undefined ? '' : `,8998=${ports.kv}`;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      labels: { app: 'server', role, group: 'a', [Labels.kvRevision]: 'r1', ...labels },
      annotations: { 'kvasir.dev/port-map': `8000=${ports.http}${kv}` },
    },
    spec: {
      containers: [
        {
          name: 'engine',
          image: kind.image,
          args: kind.args(role),
          env: Object.entries(kind.env ?? {}).map(([key, value]) => ({ name: key, value })),
        },
      ],
    },
    status: { phase: 'Running', podIP: '127.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
  } as KubeObject;
}

export const PD_SELECTOR: KindMap['ModelServer']['spec']['workloadSelector'] = {
  matchLabels: { app: 'server' },
  pdGroup: { groupKey: 'group', prefillLabels: { role: 'prefill' }, decodeLabels: { role: 'decode' } },
};

export interface PdRigOptions {
  readonly kind: PdKind;
  readonly prefills?: number;
  readonly decodes?: number;
  /** Of engines and router. @default 1 */
  readonly speed?: number;
  readonly config?: Parameters<typeof routerConfig>[0];
  readonly engine?: Partial<StartEngineOptions>;
  readonly plan?: Partial<EnginePlan>;
}

/** A router in front of simulated engines of two roles, over sockets. */
export interface PdRig {
  readonly url: string;
  readonly router: RunningRouter;
  readonly cluster: MemoryCluster;
  readonly clock: Clock;
  readonly prefill: readonly RunningEngine[];
  readonly decode: readonly RunningEngine[];
  readonly records: AccessRecord[];
  /** Sum of the router's series of a name that have all of these pieces of label text. */
  metric(name: string, ...labels: readonly string[]): Promise<number>;
  /**
   * Waits until nothing is under way, and fails unless every counter of router and engines is back at zero.
   *
   * @param abortsCross whether prefill may have answered in the moment in which its leg was ended, so that the router could not know of the
   *   KV that it keeps. @default false
   */
  settled(abortsCross?: boolean): Promise<void>;
  close(): Promise<void>;
}

/** A prompt of a few hundred tokens, each of its own. */
export const longPrompt = (seed: string): string => Array.from({ length: 120 }, (_, i) => `${seed} word ${i}`).join(', ');

export function pdBody(content: string, extra: object = {}): string {
  return JSON.stringify({
    model: 'tiny',
    messages: [{ role: 'user', content }],
    max_tokens: 8,
    temperature: 0,
    ...extra,
  });
}

export async function startPdRig(options: PdRigOptions): Promise<PdRig> {
  const { kind, prefills = 1, decodes = 1 } = options;
  const clock = wallClock(options.speed ?? 1);
  const start = (role: PdRole): Promise<RunningEngine> =>
    startSimulated(
      { reportsCachedTokens: true, maxNumSeqs: 16, maxModelLen: 4096, ...kind.plan(role), ...options.plan },
      { clock, kvPort: 0, numBlocks: 2_000, kvLinkGBps: Number.POSITIVE_INFINITY, ...options.engine },
    );
  const of = (role: PdRole, count: number): Promise<RunningEngine[]> =>
    Promise.all(Array.from({ length: count }, () => start(role)));
  const [prefill, decode] = [await of('prefill', prefills), await of('decode', decodes)];
  const cluster = new MemoryCluster();
  cluster.put(modelServer('server', { model: 'tiny', ...kind.server, workloadSelector: PD_SELECTOR }));
  cluster.put(modelRoute('route', 'server', { modelName: 'tiny' }));
  for (const [role, engines] of [['prefill', prefill] as const, ['decode', decode] as const]) {
    engines.forEach(({ port, kvAddress }, i) => {
      cluster.put(pdPod(`${role}-${i}`, role, { http: port, kv: kvAddress?.port }, kind));
    });
  }
  const records: AccessRecord[] = [];
  const any = { host: '127.0.0.1', port: 0 };
  const config: RouterConfig = routerConfig({
    disaggregation: { wholeBelowTokens: 0 },
    retry: { intervalMs: 1, budgetRatio: 1 },
    ...options.config,
  });
  const router = await startRouter({
    cluster,
    clock,
    random: seededRandom(1),
    config,
    listen: any,
    metricsListen: any,
    debugListen: any,
    log: silentLogger(),
    onRequest: (record) => records.push(record),
  });
  await router.whenReady();
  const metric = async (name: string, ...labels: readonly string[]): Promise<number> => {
    const page = (await send(`http://127.0.0.1:${router.metricsAddress.port}`, '/metrics')).body;
    return [...(parseFamilies(page).get(name)?.series ?? [])]
      .filter(([key]) => labels.every((label) => key.includes(label)))
      .reduce((sum, [, value]) => sum + value, 0);
  };
  const engines = [...prefill, ...decode];
  const alive = (engine: RunningEngine): boolean => engine.core.isAlive;
  return {
    url: `http://127.0.0.1:${router.address.port}`,
    router,
    cluster,
    clock,
    prefill,
    decode,
    records,
    metric,
    settled: async (abortsCross = false) => {
      // Requests whose clients have left may still be on their way in.
      await waitFor(
        async () => router.load().activeRequests + (await metric('kthena_router_active_upstream_requests')) === 0,
        'every request is over',
      );
      await until(
        () =>
          engines.filter(alive).every((engine) => {
            const { running, waiting, usedBlocks, retainedBlocks } = engine.stats();
            return running + waiting + usedBlocks + retainedBlocks + engine.handOffs().held === 0;
          }),
        'every engine is idle and keeps nothing',
      );
      expect(router.load()).toMatchObject({ permits: 0, bodyBytes: 0, exchanges: 0, activeRequests: 0 });
      for (const { inFlight } of router.endpoints.all()) expect(inFlight).toBe(0);
      await waitFor(async () => (await metric('kvasir_router_hand_offs_pending')) === 0, 'no hand-off is pending');
      const expired = prefill.filter(alive).reduce((sum, engine) => sum + engine.handOffs().expired, 0);
      if (!prefill.every(alive)) return;
      const leaked = await metric('kvasir_router_hand_offs_leaked_total');
      if (abortsCross) expect(leaked).toBeLessThanOrEqual(expired);
      else expect(leaked).toBe(expired);
    },
    close: async () => {
      await router.close();
      for (const engine of engines) engine.kill();
    },
  };
}

/** Waits in real time until `condition` resolves to true. */
export async function waitFor(condition: () => Promise<boolean>, what: string, timeoutMs = 5_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
