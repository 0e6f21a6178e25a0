import type { KubeObject } from '../../src/api/meta';
import { keyOf } from '../../src/api/meta';
import type { Clock } from '../lib/clock';
import type { AutoscalerCluster } from './cluster';
import { RecreatedIdentities } from './faults/recreated-identities';
import { KINDS } from './kinds';
import type { Freshness, Kind, KindMap, ObjectQuery, Objects } from './objects';
import type { ReadOutcome, WriteOutcome } from './outcome';
import type { TargetRef } from './scaling';

/** What a write or a read of `/scale` can be made to end with. */
export type InjectedOutcome =
  | Extract<WriteOutcome, { kind: 'forbidden' | 'throttled' | 'unavailable' | 'gone' }>
  /** Of a write only: somebody else wrote in between. */
  | { readonly kind: 'conflict' };

/** Controls of a cluster whose misfortunes a test decides. */
export interface Faults {
  /** The next `times` calls that can end so do, and reach the cluster no more. */
  fail(call: 'read' | 'write', outcome: InjectedOutcome, times?: number): void;
  /** The cache stays as it is now, ages, and tells of no change, until `refresh`. */
  freezeCache(): void;
  /** The cache is empty and not synced, as after a start, until `refresh`. */
  delaySync(): void;
  /** The cache is current again, and tells of all that changed. */
  refresh(): void;
  /** From now on the object at this name is another one: it has a new uid, and no older version or uid of it is accepted. */
  recreate(object: Pick<TargetRef, 'kind' | 'namespace' | 'name'>): void;
}

/** `cluster` with faults on demand, for tests of what uses a cluster. Without any it behaves as `cluster` does. */
export function withFaults(cluster: AutoscalerCluster, clock: Clock): AutoscalerCluster & { readonly faults: Faults } {
  const injected = { read: [] as InjectedOutcome[], write: [] as InjectedOutcome[] };
  const identities = new RecreatedIdentities();
  const objects = new FaultyObjects(cluster.objects, clock, identities);

  const read = async <T>(go: () => Promise<ReadOutcome<T>>): Promise<ReadOutcome<T>> => {
    const outcome = injected.read.shift();
    return outcome === undefined ? go() : (outcome as ReadOutcome<T>);
  };
  const write = async (go: () => Promise<WriteOutcome>): Promise<WriteOutcome> => injected.write.shift() ?? go();
  /** Runs a write with the version that the cluster knows under the one given. */
  const versioned = async (
    target: TargetRef,
    version: string,
    go: (version: string) => Promise<WriteOutcome>,
  ): Promise<WriteOutcome> =>
    write(async () => {
      const real = identities.accept(target, version);
      if (real === undefined) return { kind: 'conflict' };
      return identities.shownOutcome(target, await go(real));
    });

  return {
    objects,
    scaling: {
      read: (target) =>
        read(async () => {
          const outcome = await cluster.scaling.read(target);
          if (outcome.kind !== 'found') return outcome;
          const { uid, version } = outcome.value;
          return {
            kind: 'found',
            value: { ...outcome.value, uid: identities.shown(target, uid), version: identities.shown(target, version) },
          };
        }),
      set: (target, replicas, version) => versioned(target, version, (real) => cluster.scaling.set(target, replicas, real)),
      setRoles: (target, replicas, version) =>
        versioned(target, version, (real) => cluster.scaling.setRoles(target, replicas, real)),
    },
    status: {
      report: (kind, object, status) =>
        write(async () => {
          const real = identities.unshownObject(object);
          if (real === undefined) return { kind: 'gone' };
          return identities.shownOutcome(nameOf(object), await cluster.status.report(kind, real, status));
        }),
    },
    pods: {
      mark: (namespace, name, uid, annotations) =>
        write(async () => {
          const ref = { kind: 'Pod', namespace, name };
          const real = identities.accept(ref, uid);
          if (real === undefined) return { kind: 'gone' };
          return identities.shownOutcome(ref, await cluster.pods.mark(namespace, name, real, annotations));
        }),
    },
    events: cluster.events,
    leadership: cluster.leadership,
    ...(cluster.epochs && { epochs: cluster.epochs }),
    workloadPods: cluster.workloadPods,
    wakeRequests: cluster.wakeRequests,
    faults: {
      fail(call, outcome, times = 1) {
        for (let i = 0; i < times; i++) injected[call].push(outcome);
      },
      freezeCache: () => objects.freeze(),
      delaySync: () => objects.empty(),
      refresh: () => objects.thaw(),
      recreate(object) {
        identities.recreate(object);
        objects.tell(object.kind as Kind, `${object.namespace}/${object.name}`);
      },
    },
  };
}

function nameOf(object: KubeObject): Pick<TargetRef, 'kind' | 'namespace' | 'name'> {
  return { kind: object.kind, namespace: object.metadata.namespace ?? 'default', name: object.metadata.name };
}

type Cached = { readonly kind: 'frozen' | 'empty'; readonly sinceMs: number; readonly lists: Map<Kind, readonly KubeObject[]> };

class FaultyObjects implements Objects {
  private cached: Cached | undefined;
  private readonly listeners = new Map<Kind, Set<(keys: ReadonlySet<string>) => void>>();
  private readonly missed = new Map<Kind, Set<string>>();

  constructor(
    private readonly real: Objects,
    private readonly clock: Clock,
    private readonly identities: RecreatedIdentities,
  ) {}

  list<K extends Kind>(kind: K, query: ObjectQuery = {}): readonly KindMap[K][] {
    if (this.cached === undefined) return this.real.list(kind, query).map((object) => this.identities.shownObject(object));
    const { namespace, labels = {} } = query;
    return (this.cached.lists.get(kind) ?? []).filter(
      ({ metadata }) =>
        (namespace === undefined || metadata.namespace === namespace) &&
        Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value),
    ) as unknown as readonly KindMap[K][];
  }

  get<K extends Kind>(kind: K, namespace: string, name: string): KindMap[K] | undefined {
    return this.list(kind, { namespace }).find(({ metadata }) => metadata.name === name);
  }

  changed(kind: Kind, listener: (keys: ReadonlySet<string>) => void): () => void {
    const listeners = this.listeners.get(kind) ?? new Set();
    this.listeners.set(kind, listeners.add(listener));
    const end = this.real.changed(kind, (keys) => {
      if (this.cached === undefined) return listener(keys);
      for (const key of keys) this.miss(kind, key);
    });
    return () => {
      listeners.delete(listener);
      end();
    };
  }

  freshness(kind: Kind): Freshness {
    const real = this.real.freshness(kind);
    if (this.cached === undefined) return real;
    const ageMs = real.ageMs + this.clock.monotonic() - this.cached.sinceMs;
    return { isSynced: this.cached.kind === 'frozen' && real.isSynced, ageMs };
  }

  freeze(): void {
    const lists = new Map(KINDS.map((kind) => [kind, this.list(kind) as readonly KubeObject[]]));
    this.cached = { kind: 'frozen', sinceMs: this.clock.monotonic(), lists };
  }

  empty(): void {
    for (const kind of KINDS) for (const object of this.list(kind)) this.miss(kind, keyOf(object));
    this.cached = { kind: 'empty', sinceMs: this.clock.monotonic(), lists: new Map() };
  }

  thaw(): void {
    this.cached = undefined;
    for (const [kind, keys] of [...this.missed]) {
      this.missed.delete(kind);
      setImmediate(() => {
        for (const listener of [...(this.listeners.get(kind) ?? [])]) listener(keys);
      });
    }
  }

  /** Tells of a change that the cluster itself does not know of. */
  tell(kind: Kind, key: string): void {
    this.miss(kind, key);
    if (this.cached === undefined) this.thaw();
  }

  private miss(kind: Kind, key: string): void {
    this.missed.set(kind, (this.missed.get(kind) ?? new Set()).add(key));
  }
}
