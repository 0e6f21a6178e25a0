import { keyOf, selects } from '../../../src/api/meta';
import type { ModelServer } from '../../../src/api/model-server';
import { isPodReady, type Pod } from '../../../src/api/pod';
import { costPerHourOf } from '../../../src/expand/cost';
import { podAddress } from '../../../src/expand/pod-address';
import { Annotations } from '../../../src/labels';
import type { Endpoint } from './endpoint';
import type { EngineCapacity } from './engine-capacity';
import { LiveEndpoint } from './live-endpoint';
import { type PdPlace, pdPlaceOf } from './pd-place';
import type { PdMember, PdPool } from './pd-pool';

/** What keeps things by endpoint. Each is told before the endpoint's slot can be given to another pod. */
export interface EndpointListener {
  added(live: LiveEndpoint): void;
  /** The pod is gone: forget everything kept under its slot and id. */
  removed(live: LiveEndpoint): void;
  /** The engine's process began anew with an empty cache. */
  restarted(live: LiveEndpoint): void;
}

interface Entry {
  readonly live: LiveEndpoint;
  pod: Pod | undefined;
  server: ModelServer | undefined;
  restarts: number;
}

/** A pod as a place that a ModelServer asks for. */
interface Wanted {
  readonly pod: Pod;
  /** The first of the servers that select it; they are assumed to mean the same engine. */
  readonly server: ModelServer;
  readonly host: string;
  readonly port: number;
  /** Servers that send whole requests there. */
  readonly pools: string[];
  /** Servers that pair it, by role. */
  readonly pairing: { readonly server: ModelServer; readonly role: keyof PdPool }[];
}

/**
 * The pods behind each ModelServer, as endpoints. An endpoint is a pod's identity and an address; a pod that comes back under the
 * same name or address is another endpoint.
 */
export class EndpointRegistry {
  private readonly entries = new Map<string, Entry>();
  private pools: ReadonlyMap<string, readonly LiveEndpoint[]> = new Map();
  private pdPools: ReadonlyMap<string, PdPool> = new Map();
  private readonly places = new WeakMap<Pod, WeakMap<ModelServer, { readonly place: PdPlace | undefined }>>();
  private readonly freeSlots: number[] = [];
  private nextSlot = 0;

  /** @param capacityOf what a pod's engine is expected to do, from its flags and GPU. */
  constructor(
    private readonly listeners: readonly EndpointListener[],
    private readonly capacityOf: (pod: Pod, server: ModelServer) => EngineCapacity,
  ) {}

  /** Brings the registry in line with the cluster. Level-triggered: running it again changes nothing. */
  update(servers: readonly ModelServer[], pods: readonly Pod[]): void {
    const order = [...servers].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const wanted = wantedEndpoints(order, pods);
    // Removals first: their slots are purged before anybody can get them.
    for (const [key, entry] of this.entries) if (!wanted.has(key)) this.remove(key, entry);
    const pools = new Map<string, LiveEndpoint[]>(order.map((server) => [keyOf(server), []]));
    const pdPools = new Map<string, Record<keyof PdPool, PdMember[]>>();
    for (const [key, want] of wanted) {
      const entry = this.entries.get(key) ?? this.add(key, want);
      this.refresh(entry, want.pod, want.server);
      for (const pool of want.pools) pools.get(pool)!.push(entry.live);
      for (const { server, role } of want.pairing) {
        const place = this.placeOf(want.pod, server);
        if (place === undefined) continue;
        const pool = pdPools.get(keyOf(server)) ?? { prefill: [], decode: [] };
        pdPools.set(keyOf(server), pool);
        pool[role].push({ live: entry.live, place });
      }
    }
    this.pools = pools;
    this.pdPools = pdPools;
  }

  /** Endpoints of a ModelServer, available or not; undefined when there is no such server. @param key `namespace/name`. */
  pool(key: string): readonly LiveEndpoint[] | undefined {
    return this.pools.get(key);
  }

  /** Pods of a ModelServer that may pair; undefined where none has a role. @param key `namespace/name`. */
  pdPool(key: string): PdPool | undefined {
    return this.pdPools.get(key);
  }

  /** ModelServers that an endpoint is of, as `namespace/name`. */
  poolsOf(live: LiveEndpoint): readonly string[] {
    const servers = [...this.pools].flatMap(([key, members]) => (members.includes(live) ? [key] : []));
    for (const [key, { prefill }] of this.pdPools) if (prefill.some((member) => member.live === live)) servers.push(key);
    return servers;
  }

  /** Every endpoint once. */
  all(): readonly LiveEndpoint[] {
    return [...this.entries.values()].map(({ live }) => live);
  }

  /** Read once for each state of a pod and a server: it takes the pod's command line apart. */
  private placeOf(pod: Pod, server: ModelServer): PdPlace | undefined {
    let byServer = this.places.get(pod);
    if (byServer === undefined) {
      byServer = new WeakMap();
      this.places.set(pod, byServer);
    }
    let known = byServer.get(server);
    if (known === undefined) {
      known = { place: pdPlaceOf(pod, server) };
      byServer.set(server, known);
    }
    return known.place;
  }

  private add(key: string, { pod, server, host, port }: Wanted): Entry {
    const namespace = pod.metadata.namespace ?? 'default';
    const { name } = pod.metadata;
    const uid = uidOf(pod);
    const plainId = `${namespace}/${name}#${uid}`;
    const isTaken = [...this.entries.values()].some(({ live }) => live.endpoint.id === plainId);
    const endpoint: Endpoint = {
      // A pod that is selected on a second port is a second engine of the same pod.
      id: isTaken ? `${plainId}:${port}` : plainId,
      slot: this.freeSlots.pop() ?? this.nextSlot++,
      pod: { namespace, name, uid },
      host,
      port,
      ...(server.spec.workloadPort.protocol === 'https' ? { protocol: 'https' } : {}),
      engine: server.spec.inferenceEngine,
      costPerHour: costPerHourOf(pod),
    };
    const live = new LiveEndpoint(endpoint, this.capacityOf(pod, server), false);
    const entry: Entry = { live, pod: undefined, server: undefined, restarts: restartsOf(pod) };
    this.entries.set(key, entry);
    for (const listener of this.listeners) listener.added(live);
    return entry;
  }

  private remove(key: string, { live }: Entry): void {
    this.entries.delete(key);
    live.leave();
    for (const listener of this.listeners) listener.removed(live);
    this.freeSlots.push(live.endpoint.slot);
  }

  private refresh(entry: Entry, pod: Pod, server: ModelServer): void {
    if (entry.pod === pod && entry.server === server) return;
    entry.pod = pod;
    entry.server = server;
    const restarts = restartsOf(pod);
    if (restarts > entry.restarts) {
      entry.live.restarted();
      for (const listener of this.listeners) listener.restarted(entry.live);
    }
    entry.restarts = restarts;
    entry.live.setCapacity(this.capacityOf(pod, server));
    entry.live.setAvailable(isPodReady(pod) && !isDraining(pod));
  }
}

function wantedEndpoints(servers: readonly ModelServer[], pods: readonly Pod[]): ReadonlyMap<string, Wanted> {
  // By each label, so that a server looks at the pods of its first label and not at all of a large cluster.
  const byLabel = new Map<string, Pod[]>();
  for (const pod of pods) {
    for (const [key, value] of Object.entries(pod.metadata.labels ?? {})) {
      const label = labelKey(pod.metadata.namespace, key, value);
      const group = byLabel.get(label);
      if (group === undefined) byLabel.set(label, [pod]);
      else group.push(pod);
    }
  }
  const wanted = new Map<string, Wanted>();
  for (const server of servers) {
    const chosen = new Set<Pod>();
    for (const { labels, role } of selections(server)) {
      const [first] = Object.entries(labels);
      // An empty selector would take every pod of the namespace; nobody means that.
      if (first === undefined) continue;
      for (const pod of byLabel.get(labelKey(server.metadata.namespace, ...first)) ?? []) {
        const hasEnded = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
        if (hasEnded || chosen.has(pod) || !selects({ matchLabels: labels }, pod.metadata.labels)) continue;
        const address = podAddress(pod, server.spec.workloadPort.port);
        if (address === undefined) continue;
        chosen.add(pod);
        // What is spoken there is part of what it is: connections and scrapes begin anew when it changes.
        const key = `${uidOf(pod)} ${address.host} ${address.port} ${server.spec.workloadPort.protocol}`;
        const want = wanted.get(key) ?? { pod, server, ...address, pools: [], pairing: [] };
        wanted.set(key, want);
        if (role !== 'prefill') want.pools.push(keyOf(server));
        if (role !== 'any') want.pairing.push({ server, role });
      }
    }
  }
  return wanted;
}

function labelKey(namespace: string | undefined, key: string, value: string): string {
  return `${namespace ?? 'default'} ${key}=${value}`;
}

/**
 * Which pods a server has and what for. Of a server with a PD group decode pods get whole requests too, which they can answer by
 * themselves; a pod that is both is a decode pod, and a role without labels has no pods, as in Kthena.
 */
function selections({ spec }: ModelServer): readonly {
  readonly labels: Readonly<Record<string, string>>;
  readonly role: keyof PdPool | 'any';
}[] {
  const { matchLabels, pdGroup } = spec.workloadSelector;
  if (pdGroup === undefined) return [{ labels: matchLabels ?? {}, role: 'any' }];
  return [
    { own: pdGroup.decodeLabels, role: 'decode' as const },
    { own: pdGroup.prefillLabels, role: 'prefill' as const },
  ].flatMap(({ own, role }) => (Object.keys(own).length === 0 ? [] : [{ labels: { ...matchLabels, ...own }, role }]));
}

function isDraining(pod: Pod): boolean {
  const mark = pod.metadata.annotations?.[Annotations.drain];
  return mark !== undefined && mark !== 'false';
}

function uidOf(pod: Pod): string {
  return pod.metadata.uid ?? keyOf(pod);
}

function restartsOf(pod: Pod): number {
  return (pod.status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}
