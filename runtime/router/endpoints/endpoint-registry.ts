import { keyOf, selects } from '../../../src/api/meta';
import type { ModelServer } from '../../../src/api/model-server';
import { isPodReady, type Pod } from '../../../src/api/pod';
import { podAddress } from '../../../src/expand/pod-address';
import { Annotations } from '../../../src/labels';
import type { Endpoint } from './endpoint';
import type { EngineCapacity } from './engine-capacity';
import { LiveEndpoint } from './live-endpoint';

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
  readonly pools: string[];
}

/**
 * The pods behind each ModelServer, as endpoints. An endpoint is a pod's identity and an address; a pod that comes back under the
 * same name or address is another endpoint.
 */
export class EndpointRegistry {
  private readonly entries = new Map<string, Entry>();
  private pools: ReadonlyMap<string, readonly LiveEndpoint[]> = new Map();
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
    for (const [key, want] of wanted) {
      const entry = this.entries.get(key) ?? this.add(key, want);
      this.refresh(entry, want.pod, want.server);
      for (const pool of want.pools) pools.get(pool)!.push(entry.live);
    }
    this.pools = pools;
  }

  /** Endpoints of a ModelServer, available or not; undefined when there is no such server. @param key `namespace/name`. */
  pool(key: string): readonly LiveEndpoint[] | undefined {
    return this.pools.get(key);
  }

  /** Every endpoint once. */
  all(): readonly LiveEndpoint[] {
    return [...this.entries.values()].map(({ live }) => live);
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
      engine: server.spec.inferenceEngine,
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
    const labels = selectedLabels(server);
    const [first] = Object.entries(labels);
    // An empty selector would take every pod of the namespace; nobody means that.
    if (first === undefined) continue;
    for (const pod of byLabel.get(labelKey(server.metadata.namespace, ...first)) ?? []) {
      const hasEnded = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
      if (hasEnded || !selects({ matchLabels: labels }, pod.metadata.labels)) continue;
      const address = podAddress(pod, server.spec.workloadPort.port);
      if (address === undefined) continue;
      const key = `${uidOf(pod)} ${address.host} ${address.port}`;
      const known = wanted.get(key);
      if (known === undefined) wanted.set(key, { pod, server, ...address, pools: [keyOf(server)] });
      else known.pools.push(keyOf(server));
    }
  }
  return wanted;
}

function labelKey(namespace: string | undefined, key: string, value: string): string {
  return `${namespace ?? 'default'} ${key}=${value}`;
}

/** Labels of the server's pods; of a server with prefill and decode pods the decode pods, which can answer a whole request by themselves. */
function selectedLabels(server: ModelServer): Readonly<Record<string, string>> {
  const { matchLabels, pdGroup } = server.spec.workloadSelector;
  return { ...matchLabels, ...pdGroup?.decodeLabels };
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
