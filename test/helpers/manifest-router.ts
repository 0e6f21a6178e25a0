import type { ManifestCluster } from '../../runtime/cluster/manifests';
import type { Clock } from '../../runtime/lib/clock';
import { silentLogger } from '../../runtime/lib/logger';
import { seededRandom } from '../../runtime/lib/random';
import { wallClock } from '../../runtime/lib/wall-clock';
import { type RunningRouter, startRouter } from '../../runtime/router/router';
import type { KubeObject } from '../../src/api/meta';
import { parseRouterConfig, type RouterConfig } from '../../src/config/router-config';
import { InstantPods } from './instant-pods';
import { ManifestFolder } from './manifest-folder';
import { parseFamilies } from './prometheus-text';
import { type Answer, send, until } from './router-harness';

export interface ManifestRouterOptions {
  readonly objects: readonly KubeObject[];
  /** The router's configuration file. @default every default */
  readonly config?: string;
  /** @default real time */
  readonly clock?: Clock;
  /** Runs the workloads among the objects. @default engines that answer at once */
  readonly pods?: InstantPods;
  /** Runs between the start and readiness. */
  readonly beforeReady?: (router: RunningRouter) => Promise<void>;
}

/** Routers in front of one folder of manifests, over sockets. */
export interface ManifestRouter {
  readonly folder: ManifestFolder;
  readonly cluster: ManifestCluster;
  readonly pods: InstantPods;
  readonly router: RunningRouter;
  readonly url: string;
  /** Lines of the access log, in Kthena's text form. */
  readonly log: readonly string[];
  /** One more router in front of the same folder; `close` ends it too. */
  another(): Promise<ManifestRouter>;
  /** Writes manifests and resolves when the router has seen them. */
  put(...objects: readonly KubeObject[]): Promise<void>;
  remove(...objects: readonly KubeObject[]): Promise<void>;
  chat(model: string, extra?: object, headers?: Record<string, string>): Promise<Answer & { readonly isCut: boolean }>;
  /** What the debug port says. */
  debug<T = Record<string, unknown>>(path: string): Promise<T>;
  /** Sum of the series of a name that have all of these pieces of label text. */
  metric(name: string, ...labels: readonly string[]): Promise<number>;
  /** Requests by what stands for `field` in the access log, since `from` lines. */
  counts(field: string, from?: number): Readonly<Record<string, number>>;
  close(): Promise<void>;
}

const anyPort = { host: '127.0.0.1', port: 0 };

export function readConfig(text: string): RouterConfig {
  const decoded = parseRouterConfig(text);
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  return decoded.config;
}

/** A router that reads manifests from files, ready to serve. */
export async function startManifestRouter(options: ManifestRouterOptions): Promise<ManifestRouter> {
  const { clock = wallClock(), pods = new InstantPods() } = options;
  const folder = new ManifestFolder(options.objects);
  const cluster = await folder.open({ clock, runner: pods });
  await cluster.settled();
  const closers: (() => Promise<void>)[] = [];

  async function start(seed: number): Promise<ManifestRouter> {
    const log: string[] = [];
    const router = await startRouter({
      cluster,
      clock,
      random: seededRandom(seed),
      config: readConfig(options.config ?? '{}'),
      listen: anyPort,
      metricsListen: anyPort,
      debugListen: anyPort,
      log: silentLogger(),
      accessLogDestination: { write: (line: string) => void log.push(...line.trimEnd().split('\n')) },
    });
    closers.push(() => router.close());
    await options.beforeReady?.(router);
    await router.whenReady();
    const url = `http://127.0.0.1:${router.address.port}`;
    const settle = async (): Promise<void> => {
      await cluster.settled();
      await until(() => router.isReady(), 'the router is ready');
    };
    return {
      folder,
      cluster,
      pods,
      router,
      url,
      log,
      another: () => start(seed + 1),
      put: async (...objects) => {
        await folder.put(...objects);
        await settle();
      },
      remove: async (...objects) => {
        await folder.remove(...objects);
        await settle();
      },
      chat: (model, extra = {}, headers = {}) =>
        send(
          url,
          '/v1/chat/completions',
          JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], max_tokens: 4, ...extra }),
          headers,
        ),
      debug: async <T>(path: string) =>
        JSON.parse((await send(`http://127.0.0.1:${router.debugAddress.port}`, `/debug/${path}`)).body) as T,
      metric: async (name, ...labels) => {
        const page = (await send(`http://127.0.0.1:${router.metricsAddress.port}`, '/metrics')).body;
        return [...(parseFamilies(page).get(name.replace(/_(?:count|sum)$/, ''))?.series ?? [])]
          .filter(([key]) => !key.startsWith('_bucket') && !(name.endsWith('_count') && key.startsWith('_sum')))
          .filter(([key]) => labels.every((label) => key.includes(label)))
          .reduce((sum, [, value]) => sum + value, 0);
      },
      counts: (field, from = 0) => {
        const counts: Record<string, number> = {};
        for (const line of log.slice(from)) {
          const value = new RegExp(` ${field}=(\\S+)`).exec(line)?.[1] ?? 'none';
          counts[value] = (counts[value] ?? 0) + 1;
        }
        return counts;
      },
      close: async () => {
        for (const close of closers.splice(0).reverse()) await close();
        await folder.close();
        pods.killAll();
      },
    };
  }
  return start(1);
}
