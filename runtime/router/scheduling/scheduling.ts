import { keyOf } from '../../../src/api/meta';
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
import type { PlaceTable } from '../cache/replication/place-table';
import { Replication, type ReplicationLink } from '../cache/replication/replication';
import { sharingWithAll } from '../cache/replication/sharing-with-all';
import { TextDensity } from '../cache/text-density';
import type { Endpoint } from '../endpoints/endpoint';
import { type EndpointListener, EndpointRegistry } from '../endpoints/endpoint-registry';
import { EndpointScrapes } from '../endpoints/endpoint-scrapes';
import { capacityOfPod, type EngineCapacity } from '../endpoints/engine-capacity';
import { httpMetricsFetcher } from '../endpoints/fetch-metrics';
import { ModelLists } from '../endpoints/model-lists';
import type { OnFlightCounters } from '../endpoints/on-flight-counters';
import type { PdMember, PdPool } from '../endpoints/pd-pool';
import { PodRooms, type Rooms } from '../endpoints/pod-rooms';
import { type FetchMetrics, type ScrapeOptions, Scraper } from '../endpoints/scraper';
import type { EngineTls } from '../listener/router-tls';
import type { SchedulingMetrics } from '../observability/scheduling-metrics';
import { RouteTable } from '../routing/route-table';
import type { AttemptContext } from './attempt-context';
import type { Attempts } from './attempts';
import { configuredProfile, type ProfileConfig } from './configured-profile';
import { type EndpointStatus, statusOf } from './endpoint-status';
import { LiveAttempts } from './live-attempts';
import { LivePairs } from './live-pairs';
import { modelServerFindings } from './model-server-findings';
import { OutputEstimate } from './output-estimate';
import { pairingFindings } from './pairing-findings';
import type { Profile } from './profile';
import { Readiness } from './readiness';
import { routeProfiles } from './route-profiles';

export type { EndpointStatus } from './endpoint-status';

/** Memory of the prefix index: about 3 million blocks, 400 pods with a million tokens each. */
const INDEX_BYTES = 128 * 2 ** 20;
const ROUTING_KINDS = ['ModelRoute', 'ModelServer', 'ExternalModelProvider'] as const;

export interface SchedulingOptions {
  readonly cluster: Pick<RouterCluster, 'objects'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: ProfileConfig & Partial<Pick<RouterConfig, 'routeProfiles' | 'redis' | 'engineTls'>>;
  /** @default over HTTP from each endpoint's `/metrics` */
  readonly fetchMetrics?: FetchMetrics;
  /** How often engines are scraped. @default as `ScrapeOptions` says */
  readonly scrapes?: ScrapeOptions;
  /** How https engines are scraped, read for each connection. @default by Node's own authorities */
  readonly engineTls?: () => EngineTls;
  /** What a pod's engine is expected to do. @default from its flags, GPU class and model */
  readonly capacityOf?: (pod: Pod, context: ServingContext) => EngineCapacity;
  /** Decides in place of what `config` asks for, as when a replay compares other routers' policies. @default by `config` */
  readonly profile?: Profile;
  /** @default nothing is measured */
  readonly metrics?: SchedulingMetrics | undefined;
  /** Bound of each pod's sequences in `rooms`, below its engine's own. @default its engine's own */
  readonly maxSequencesPerPod?: number | undefined;
  /** Counts in Redis beside Kthena's routers; `close` ends it. @default nothing is counted there */
  readonly counters?: OnFlightCounters | undefined;
  /** How sibling routers are reached; `close` ends it. @default there are none */
  readonly replication?: ReplicationLink | undefined;
  /** What siblings are told beside dispatches: where sessions and responses are. @default nothing */
  readonly places?: readonly PlaceTable[];
}

/** The live view of pods. */
export interface Endpoints {
  all(): readonly EndpointStatus[];
  /** Endpoints of a ModelServer, ready or not; undefined when there is no such server. @param key `namespace/name`. */
  ofModelServer(key: string): readonly Endpoint[] | undefined;
  /** Endpoints of a ModelServer that have a role in pairs. @param key `namespace/name`. */
  roles(key: string): Readonly<Record<keyof PdPool, readonly Endpoint[]>>;
  /** Calls `listener` for each endpoint whose pod is gone. @returns a function that ends it. */
  removed(listener: (endpoint: Endpoint) => void): () => void;
  /** Blocks in the prefix index, and the factor by which its byte bound cuts all pods' shares (1: not at all). */
  index(): { readonly blocks: number; readonly shareScale: number };
}

export interface Scheduling {
  readonly attempts: Attempts;
  /** Attempts at ModelServers whose pods split prefill and decode. */
  readonly pairs: LivePairs;
  readonly routes: RouteTable;
  /** Room in pods, for what waits until there is some. */
  readonly rooms: Rooms;
  readonly endpoints: Endpoints;
  readonly profileName: string;
  /** Whether some profile asks who holds a prompt's KV blocks. */
  readonly asksForBlocks: boolean;
  /** The profile that decides for a ModelRoute. @param route `namespace/name`. */
  profileOf(route: string): Profile;
  /** Decides from now on as another configuration asks. */
  configure(config: SchedulingOptions['config']): void;
  /** What of the configuration, of routes and of ModelServers cannot be done as written. */
  findings(): readonly Finding[];
  /** Whether routes and pods were listed and each pod was scraped once, with or without success. Stays true. */
  isReady(): boolean;
  whenReady(): Promise<void>;
  /** Tells siblings that this router takes no new requests. */
  leaving(): void;
  /** Ends scrapes and watches. */
  close(): Promise<void>;
}

/** Composes routing, endpoints, prefix index and scheduler, and keeps them in line with the cluster. */
export async function createScheduling(options: SchedulingOptions): Promise<Scheduling> {
  const { cluster, clock, random, config, capacityOf = capacityOfPod } = options;
  const { objects } = cluster;
  const fetcher = options.fetchMetrics === undefined ? httpMetricsFetcher(options.engineTls) : undefined;
  let profiles = profilesOf(config, options.profile);
  const routes = new RouteTable();
  const index = new PrefixIndex(INDEX_BYTES);
  const density = new TextDensity();
  const shares = new PodShares(index, density);
  const scraper = new Scraper(clock, options.fetchMetrics ?? fetcher!.fetchMetrics, options.scrapes);
  let isListed = false;
  // Before the first update after the sync, no endpoint is known, and "all of them were scraped" would hold of none.
  const list = (): void => {
    if (isListed) return;
    isListed = true;
    update();
  };
  const readiness = new Readiness(clock, () => {
    if (!isSynced()) return false;
    list();
    return registry.all().every(({ scraped }) => scraped.isTried);
  });
  const scrapes = new EndpointScrapes(scraper, clock, (live) => {
    shares.refresh(live);
    readiness.check();
    rooms.changed(live);
  });
  const maxSequences = options.maxSequencesPerPod ?? Number.POSITIVE_INFINITY;
  const rooms = new PodRooms(() => registry, clock, maxSequences);
  const removedListeners = new Set<(endpoint: Endpoint) => void>();
  const removals: EndpointListener = {
    added: () => undefined,
    removed: ({ endpoint }) => {
      for (const listener of removedListeners) listener(endpoint);
    },
    restarted: () => undefined,
  };
  let context: ServingContext = { modelServers: [], modelRoutes: [] };
  const replication =
    options.replication && new Replication({ ...options.replication, clock, index, places: options.places ?? [] });
  const { counters } = options;
  const told = [replication?.endpoints ?? [], counters ?? []].flat();
  const registry = new EndpointRegistry([shares, ...told, scrapes, removals, rooms], (pod: Pod, server: ModelServer) =>
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
    rooms.updated();
    models?.update();
  };
  const models =
    fetcher &&
    new ModelLists(clock, fetcher.fetchModels, () => adapterServers(context).flatMap((key) => registry.pool(key) ?? []));
  const subscriptions = [...ROUTING_KINDS, 'Pod' as const].map((kind) => objects.changed(kind, update));
  const attemptContext: AttemptContext = {
    clock,
    random,
    registry,
    index,
    hasher: new BlockHasher(options.replication?.key.hashSeed),
    density,
    outputs: new OutputEstimate(),
    get profile() {
      return profiles.profile;
    },
    get routeProfiles() {
      return profiles.byRoute;
    },
    sharing: sharingWithAll([replication?.sharing ?? [], counters ?? []].flat()),
    metrics: options.metrics,
    densityChanged: (live, model) => shares.answered(live, model),
  };
  const attempts = new LiveAttempts(attemptContext);
  options.metrics?.follow(() => {
    options.metrics!.held(index.stats().blocks);
    for (const server of context.modelServers) {
      for (const { endpoint } of registry.pool(keyOf(server)) ?? []) {
        const evictions = index.takeEvictions(endpoint.slot);
        if (evictions > 0) options.metrics!.evicted(server.spec.model || server.metadata.name, evictions);
      }
    }
  });
  update();
  return {
    attempts,
    pairs: new LivePairs(attemptContext, attempts),
    routes,
    rooms,
    endpoints: {
      all: () => registry.all().map((live) => statusOf(live, index, clock.monotonic())),
      ofModelServer: (key) => registry.pool(key)?.map(({ endpoint }) => endpoint),
      roles: (key) => {
        const { prefill = [], decode = [] } = registry.pdPool(key) ?? {};
        const endpointsOf = (members: readonly PdMember[]) => members.map(({ live }) => live.endpoint);
        return { prefill: endpointsOf(prefill), decode: endpointsOf(decode) };
      },
      removed: (listener) => {
        removedListeners.add(listener);
        return () => removedListeners.delete(listener);
      },
      index: () => index.stats(),
    },
    get profileName() {
      return profiles.profile.name;
    },
    get asksForBlocks() {
      return profiles.asksForBlocks;
    },
    profileOf: (route) => profiles.byRoute?.get(route) ?? profiles.profile,
    configure: (next) => {
      profiles = profilesOf(next, options.profile);
    },
    findings: () => [
      ...profiles.findings,
      ...routes.findings(),
      ...context.modelServers.flatMap((server) => [
        ...modelServerFindings(server, config.engineTls),
        ...pairingFindings(server, registry),
      ]),
    ],
    isReady: () => readiness.isReady(),
    whenReady: () => readiness.whenReady(),
    leaving: () => replication?.leaving(),
    close: async () => {
      for (const end of subscriptions) end();
      await Promise.all([replication?.close(), counters?.close()]);
      readiness.close();
      scraper.close();
      models?.close();
      await fetcher?.close();
    },
  };
}

/** @param fixed decides in place of the configured one. */
function profilesOf(config: SchedulingOptions['config'], fixed: Profile | undefined) {
  const { profile, findings } = fixed === undefined ? configuredProfile(config) : { profile: fixed, findings: [] };
  const ofRoutes = routeProfiles(config);
  const asksForBlocks = [profile, ...(ofRoutes.byRoute?.values() ?? [])].some(({ kvBlocks }) => kvBlocks !== undefined);
  const withoutRedis = asksForBlocks && config.redis === undefined ? [KV_BLOCKS_WITHOUT_REDIS] : [];
  return { profile, byRoute: ofRoutes.byRoute, asksForBlocks, findings: [...findings, ...ofRoutes.findings, ...withoutRedis] };
}

const KV_BLOCKS_WITHOUT_REDIS: Finding = {
  code: 'config/scheduler-plugin',
  severity: 'warning',
  field: 'redis',
  message: 'the score plugin "kvcache-aware" asks Redis, and none is configured, so that it never counts',
  remedy: 'give the router the Redis that the sidecars of the engines write to, or remove the plugin',
};

/** Keys of the ModelServers behind routes with adapters. */
function adapterServers({ modelRoutes }: ServingContext): readonly string[] {
  const keys = modelRoutes
    .filter(({ spec }) => (spec.loraAdapters ?? []).length > 0)
    .flatMap(({ metadata, spec }) =>
      spec.rules.flatMap(({ targetModels }) =>
        targetModels.flatMap(({ modelServerName }) =>
          modelServerName ? [`${metadata.namespace ?? 'default'}/${modelServerName}`] : [],
        ),
      ),
    );
  return [...new Set(keys)];
}
