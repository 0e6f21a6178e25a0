import { type Finding, findingLine } from '../../src/errors';
import type { WorkloadKind } from '../../src/expand/workload-plan';
import type { Clock } from '../lib/clock';
import { sleep } from '../lib/clock';
import type { Logger } from '../lib/logger';
import { type Random, systemRandom } from '../lib/random';
import { wallClock } from '../lib/wall-clock';
import type { Cluster, Leadership } from './cluster';
import { KINDS } from './kinds';
import { ApiClient, type ApiRequests } from './kubernetes/api-client';
import type { Credentials } from './kubernetes/credentials';
import { Discovery } from './kubernetes/discovery';
import { EpochAccess } from './kubernetes/epoch-access';
import { EventNotes } from './kubernetes/event-notes';
import { Heartbeat } from './kubernetes/heartbeat';
import { ObjectCache } from './kubernetes/object-cache';
import { ObjectWriter } from './kubernetes/object-writer';
import { Reflector } from './kubernetes/reflector';
import { ScaleAccess } from './kubernetes/scale-access';
import { SecretWatches, type WatchedSecrets } from './kubernetes/secret-watches';
import { WakeAccess } from './kubernetes/wake-access';
import { type WatchedKind, WORKLOAD_KIND_NAMES, watchedResource } from './kubernetes/watched-resources';
import type { Kind } from './objects';
import { ObjectsView } from './views/objects-view';
import { SecretsView } from './views/secrets-view';
import { SleepersView } from './views/sleepers-view';
import { WakeRequestsView } from './views/wake-requests-view';
import { WorkloadPods } from './views/workload-pods';
import { LEASES, wakeLeaseSelector } from './wake-lease';

/** What a process watches. It needs the right to list and watch all of it in every namespace, and no more. */
export interface WatchedObjects {
  readonly kinds: readonly Kind[];
  /** Whether workloads of every kind are watched: for what sleeps, and for what would run. */
  readonly workloads: boolean;
  /** Whether wake leases are watched. */
  readonly wakeRequests: boolean;
  readonly secrets: WatchedSecrets;
}

export interface KubernetesClusterOptions {
  readonly credentials: Credentials;
  /** Name of this program, in Events. */
  readonly component: string;
  readonly watch: WatchedObjects;
  /** Time of leases and events, and of the age of what is seen. Waits for the network are real ones. */
  readonly clock: Clock;
  readonly log: Logger;
  /** @default the runtime's own */
  readonly random?: Random;
  /** Whether this process may write. @default it may until the cluster is closed */
  readonly leadership?: Leadership;
  /** Told of each finding about an object once. */
  readonly onFinding?: (finding: Finding) => void;
}

/** A cluster over the Kubernetes API. */
export interface KubernetesCluster extends Cluster {
  /** For requests of the same process as the same user. */
  readonly client: ApiClient;
  /** Resolves when all kinds and Secrets were listed once, or `limitMs` later in real milliseconds. @returns whether all were listed. */
  synced(limitMs: number): Promise<boolean>;
}

/** Findings that are remembered as told. */
const TOLD = 10_000;

/**
 * Watches a cluster over its API. It returns at once: views fill as the API answers, and say by `freshness` how current they are. What was
 * seen is kept while the API is away.
 */
export function openKubernetesCluster(options: KubernetesClusterOptions): KubernetesCluster {
  const { clock, log, watch, random = systemRandom } = options;
  const client = new ApiClient(options.credentials);
  const cache = new ObjectCache(tellOnce(options.onFinding ?? (() => undefined)));
  const open = (
    kind: WatchedKind,
    place: { readonly namespace?: string; readonly select?: Readonly<Record<string, string>> } = {},
  ) => {
    const resource = watchedResource(kind);
    return new Reflector({ client, resource, ...place, cache, clock, random, onTrouble: troubleLog(log, resource.plural) });
  };

  const kinds = new Set<Kind | WorkloadKind>([...watch.kinds, ...(watch.workloads ? WORKLOAD_KIND_NAMES : [])]);
  const reflectors = new Map([...kinds].map((kind) => [kind, open(kind)]));
  const leases = watch.wakeRequests ? [open(LEASES.kind, { select: { labelSelector: wakeLeaseSelector } })] : [];
  const secretWatches = new SecretWatches(watch.secrets, {
    byName: (namespace, name) => open('Secret', { namespace, select: { fieldSelector: `metadata.name=${name}` } }),
    byLabel: (label) => open('Secret', { select: { labelSelector: label } }),
  });
  /** What a program cannot do without, where the rest only lets it do more. */
  const needed = (): readonly Reflector[] => [...watch.kinds.map((kind) => reflectors.get(kind)!), ...secretWatches.all()];
  const all = (): readonly Reflector[] => [...reflectors.values(), ...leases, ...secretWatches.all()];
  const heartbeat = new Heartbeat(client, clock, (atMs) => {
    for (const reflector of all()) reflector.heard(atMs);
  });

  // A kind that is not watched is never current.
  const objects = new ObjectsView(
    cache,
    (kind) => reflectors.get(kind)?.freshness() ?? { isSynced: false, ageMs: clock.monotonic() },
  );
  objects.changed('ExternalModelProvider', () => secretWatches.follow(objects.list('ExternalModelProvider')));
  const workloadPods = new WorkloadPods(cache);
  const wake = new WakeAccess(client, clock, new SleepersView(cache, workloadPods));
  const wakeRequests = new WakeRequestsView(cache, (namespace, uid) => wake.read(namespace, uid));
  let isClosed = false;
  const contest = options.leadership?.contest;
  const leadership: Leadership = {
    held: () => !isClosed && (options.leadership?.held() ?? true),
    ...(contest && { contest }),
  };
  const leading = whileHeld(client, leadership);
  const writer = new ObjectWriter(leading, cache);
  const discovery = new Discovery(client, wallClock());
  const events = new EventNotes(client, clock, options.component);
  let closing: Promise<void> | undefined;

  return {
    client,
    objects,
    secrets: new SecretsView(cache),
    wake,
    wakeRequests,
    workloadPods,
    scaling: new ScaleAccess(leading, discovery),
    epochs: new EpochAccess(leading, discovery),
    status: writer,
    pods: writer,
    events,
    leadership,
    async synced(limitMs) {
      const late = new AbortController();
      const listed = Promise.all(needed().map(({ synced }) => synced)).then(() => true);
      const limit = sleep(wallClock(), limitMs, late.signal).then(() => false);
      try {
        return await Promise.race([listed, limit]);
      } finally {
        late.abort();
      }
    },
    close() {
      closing ??= close();
      return closing;
    },
  };

  async function close(): Promise<void> {
    isClosed = true;
    await events.close();
    client.close();
    objects.close();
    wakeRequests.close();
    await Promise.all([heartbeat.close(), ...all().map((reflector) => reflector.close())]);
  }
}

/** What every source shows: all kinds, for tools and tests. */
export const EVERYTHING: WatchedObjects = {
  kinds: KINDS,
  workloads: true,
  wakeRequests: true,
  secrets: { names: [], labels: [], ofProviders: true },
};

/** Sends what changes something only while this process leads. */
function whileHeld(client: ApiClient, leadership: Leadership): ApiRequests {
  const mayBeSent = (): boolean => leadership.held();
  return { request: (asked) => client.request(asked.method === 'GET' ? asked : { ...asked, mayBeSent }) };
}

/** Says when a view stops being current, and when it is current again; not each try. */
function troubleLog(log: Logger, resource: string): (trouble: string | undefined) => void {
  let last: string | undefined;
  return (trouble) => {
    if (trouble === last) return;
    if (trouble === undefined) log.info({ resource }, 'the view of the cluster is current again');
    else if (last === undefined) log.warn({ resource, trouble }, 'the view of the cluster is not current; trying again');
    last = trouble;
  };
}

function tellOnce(tell: (finding: Finding) => void): (finding: Finding) => void {
  const told = new Set<string>();
  return (finding) => {
    const line = findingLine(finding);
    if (told.has(line)) return;
    if (told.size >= TOLD) told.clear();
    told.add(line);
    tell(finding);
  };
}
