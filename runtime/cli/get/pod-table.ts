import { keyOf } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import { acceleratorOf, gpusOf } from '../../../src/expand/pod-accelerators';
import type { EndpointStatus } from '../../router/scheduling/scheduling';
import { type Look, nowOf, objectsOf } from '../look/look';
import { podState } from '../look/pod-state';
import { selectedPods } from '../look/server-view';
import { ageText, shareText, UNKNOWN } from '../look/texts';
import type { TableOf } from './table-of';

/** A pod that a ModelServer selects, or that a workload of a model makes. */
export interface PodRow {
  readonly pod: Pod;
  /** Names of the ModelServers that select it. */
  readonly servers: readonly string[];
  /** What a router sees of it. */
  readonly seen: EndpointStatus | undefined;
  readonly at: string;
}

/** Rows of all pods that have to do with a model. */
export function podRows(look: Look): readonly PodRow[] {
  const pods = objectsOf(look, 'Pod');
  const servers = new Map<string, string[]>();
  for (const { pods: own } of look.snapshot.workloads) for (const key of own) servers.set(key, []);
  for (const server of objectsOf(look, 'ModelServer')) {
    for (const pod of selectedPods(server, pods)) {
      servers.set(keyOf(pod), [...(servers.get(keyOf(pod)) ?? []), server.metadata.name]);
    }
  }
  return pods
    .filter((pod) => servers.has(keyOf(pod)))
    .map((pod) => ({ pod, servers: servers.get(keyOf(pod))!, seen: look.endpoints?.get(keyOf(pod)), at: nowOf(look) }))
    .sort((a, b) => (keyOf(a.pod) < keyOf(b.pod) ? -1 : 1));
}

const text = (value: number | undefined): string => (value === undefined ? UNKNOWN : String(value));

/** What the engine told when it was last scraped. */
const LOAD: TableOf<PodRow>['columns'] = [
  { title: 'RUNNING', cell: ({ seen }) => text(seen?.running), isText: true },
  { title: 'WAITING', cell: ({ seen }) => text(seen?.waiting), isText: true },
  {
    title: 'KV',
    cell: ({ seen }) => (seen?.kvUsage === undefined ? UNKNOWN : shareText(Math.round(100 * seen.kvUsage) / 100)),
    isText: true,
  },
];

/** What the router itself has sent there. */
const LEDGER: TableOf<PodRow>['columns'] = [
  { title: 'IN-FLIGHT', cell: ({ seen }) => text(seen?.inFlight), isText: true, isWide: true },
  { title: 'QUEUED-TOKENS', cell: ({ seen }) => text(seen && Math.round(seen.queuedTokens)), isText: true, isWide: true },
];

/** What `kvasir get pods` shows. @param hasRouter whether a router was asked. */
export const podTable = (hasRouter: boolean): TableOf<PodRow> => ({
  columns: [
    { title: 'NAMESPACE', cell: ({ pod }) => pod.metadata.namespace ?? 'default', isText: true },
    { title: 'NAME', cell: ({ pod }) => pod.metadata.name, isText: true },
    { title: 'READY', cell: ({ pod }) => podState(pod).containers, isText: true },
    { title: 'STATUS', cell: ({ pod, seen }) => (seen?.isEjected === true ? 'Ejected' : podState(pod).status), isText: true },
    ...(hasRouter ? LOAD : []),
    { title: 'RESTARTS', cell: ({ pod }) => String(podState(pod).restarts), isText: true, isWide: true },
    { title: 'AGE', cell: ({ pod, at }) => ageText(pod.metadata.creationTimestamp, at), isText: true },
    { title: 'SERVER', cell: ({ servers }) => servers.join(',') || UNKNOWN, isText: true, isWide: true },
    { title: 'GPUS', cell: ({ pod }) => gpusText(pod), isText: true, isWide: true },
    { title: 'IP', cell: ({ pod }) => pod.status?.podIP || UNKNOWN, isText: true, isWide: true },
    ...(hasRouter ? LEDGER : []),
  ],
  document: ({ pod, servers, seen }) => {
    const { status, why, restarts, isReady } = podState(pod);
    return {
      name: pod.metadata.name,
      namespace: pod.metadata.namespace ?? 'default',
      isReady,
      status,
      why: why ?? null,
      restarts,
      servers,
      accelerator: acceleratorOf(pod)?.name ?? null,
      gpus: gpusOf(pod),
      podIP: pod.status?.podIP ?? null,
      router: seen === undefined ? null : withoutIdentity(seen),
    };
  },
});

function gpusText(pod: Pod): string {
  const gpus = gpusOf(pod);
  return gpus === 0 ? UNKNOWN : `${gpus}×${acceleratorOf(pod)?.name ?? 'unknown'}`;
}

function withoutIdentity({ endpoint, ...rest }: EndpointStatus): object {
  return { endpoint: endpoint.id, ...rest };
}
