import type { ModelServer } from '../../../src/api/model-server';
import type { Pod } from '../../../src/api/pod';
import type { RouterConfig } from '../../../src/config/router-config';
import type { Finding } from '../../../src/errors';
import type { ServingContext } from '../../../src/expand/serving-context';
import type { RouterCluster } from '../../cluster/cluster';
import type { Clock } from '../../lib/clock';
import type { Random } from '../../lib/random';
import { BlockHasher } from '../cache/block-hashes';
import { PodShares } from '../cache/pod-shares';
import { PrefixIndex } from '../cache/prefix-index';
import { TextDensity } from '../cache/text-density';
import type { Endpoint } from '../endpoints/endpoint';
import { type EndpointListener, EndpointRegistry } from '../endpoints/endpoint-registry';
import { EndpointScrapes } from '../endpoints/endpoint-scrapes';
import { capacityOfPod, type EngineCapacity } from '../endpoints/engine-capacity';
import { httpMetricsFetcher } from '../endpoints/fetch-metrics';
import { type FetchMetrics, Scraper } from '../endpoints/scraper';
import { RouteTable } from '../routing/route-table';
import type { Attempts } from './attempts';
import { configuredProfile } from './configured-profile';
import { type EndpointStatus, statusOf } from './endpoint-status';
import { LiveAttempts } from './live-attempts';
import { modelServerFindings } from './model-server-findings';
import { OutputEstimate } from './output-estimate';
import { Readiness } from './readiness';

export type { EndpointStatus } from './endpoint-status';

/** Memory of the prefix index: about 3 million blocks, 400 pods with a million tokens each. */
const INDEX_BYTES = 128 * 2 ** 20;
const ROUTING_KINDS = ['ModelRoute', 'ModelServer', 'ExternalModelProvider'] as const;

export interface SchedulingOptions {
  readonly cluster: Pick<RouterCluster, 'objects'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: Pick<RouterConfig, 'profile' | 'scheduler'>;
  /** @default over HTTP from each endpoint's `/metrics` */
  readonly fetchMetrics?: FetchMetrics;
  /** What a pod's engine is expected to do. @default from its flags, GPU class and model */
  readonly capacityOf?: (pod: Pod, context: ServingContext) => EngineCapacity;
}

/** The live view of pods. */
export interface Endpoints {
  all(): readonly EndpointStatus[];
  /** Endpoints of a ModelServer, ready or not; undefined when there is no such server. @param key `namespace/name`. */
  ofModelServer(key: string): readonly Endpoint[] | undefined;
  /** Calls `listener` for each endpoint whose pod is gone. @returns a function that ends it. */
  removed(listener: (endpoint: Endpoint) => void): () => void;
  /** Blocks in the prefix index, and the factor by which its byte bound cuts all pods' shares (1: not at all). */
  index(): { readonly blocks: number; readonly shareScale: number };
}

export interface Scheduling {
  readonly attempts: Attempts;
  readonly routes: RouteTable;
  readonly endpoints: Endpoints;
  readonly profileName: string;
  /** What of the configuration, of routes and of ModelServers cannot be done as written. */
  findings(): readonly Finding[];
  /** Whether routes and pods were listed and each pod was scraped once, with or without success. Stays true. */
  isReady(): boolean;
  whenReady(): Promise<void>;
  /** Ends scrapes and watches. */
  close(): Promise<void>;
}

/** Composes routing, endpoints, prefix index and scheduler, and keeps them in line with the cluster. */
export async function createScheduling(options: SchedulingOptions): Promise<Scheduling> {
  const { cluster, clock, random, config, capacityOf = capacityOfPod } = options;
  const { objects } = cluster;
  const fetcher = options.fetchMetrics === undefined ? httpMetricsFetcher() : undefined;
  const configured = configuredProfile(config);
  const routes = new RouteTable();
  const index = new PrefixIndex(INDEX_BYTES);
  const density = new TextDensity();
  const shares = new PodShares(index, density);
  const scraper = new Scraper(clock, options.fetchMetrics ?? fetcher!.fetchMetrics);
  const readiness = new Readiness(clock, () => isSynced() && registry.all().every(({ scraped }) => scraped.isTried));
  const scrapes = new EndpointScrapes(scraper, clock, (live) => {
    shares.refresh(live);
    readiness.check();
  });
  const removedListeners = new Set<(endpoint: Endpoint) => void>();
  const removals: EndpointListener = {
    added: () => undefined,
    removed: ({ endpoint }) => {
      for (const listener of removedListeners) listener(endpoint);
    },
    restarted: () => undefined,
  };
  let context: ServingContext = { modelServers: [], modelRoutes: [] };
  const registry = new EndpointRegistry([shares, scrapes, removals], (pod: Pod, server: ModelServer) =>
    capacityOf(pod, { ...context, modelServers: [server] }),
  );
  const isSynced = (): boolean => [...ROUTING_KINDS, 'Pod' as const].every((kind) => objects.freshness(kind).isSynced);
  const update = (): void => {
    const modelServers = objects.list('ModelServer');
    const modelRoutes = objects.list('ModelRoute');
    context = { modelServers, modelRoutes };
    routes.update({ routes: modelRoutes, modelServers, providers: objects.list('ExternalModelProvider') });
    registry.update(modelServers, objects.list('Pod'));
    readiness.check();
  };
  const subscriptions = [...ROUTING_KINDS, 'Pod' as const].map((kind) => objects.changed(kind, update));
  const attempts = new LiveAttempts({
    clock,
    random,
    registry,
    index,
    hasher: await BlockHasher.load(),
    density,
    outputs: new OutputEstimate(),
    profile: configured.profile,
    densityChanged: (live, model) => shares.answered(live, model),
  });
  update();
  return {
    attempts,
    routes,
    endpoints: {
      all: () => registry.all().map((live) => statusOf(live, index, clock.monotonic())),
      ofModelServer: (key) => registry.pool(key)?.map(({ endpoint }) => endpoint),
      removed: (listener) => {
        removedListeners.add(listener);
        return () => removedListeners.delete(listener);
      },
      index: () => index.stats(),
    },
    profileName: configured.profile.name,
    findings: () => [...configured.findings, ...routes.findings(), ...context.modelServers.flatMap(modelServerFindings)],
    isReady: () => readiness.isReady(),
    whenReady: () => readiness.whenReady(),
    close: async () => {
      for (const end of subscriptions) end();
      readiness.close();
      scraper.close();
      await fetcher?.close();
    },
  };
}
