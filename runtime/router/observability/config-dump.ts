import type { ExternalModelProvider } from '../../../src/api/external-model-provider';
import { type KubeObject, keyOf } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import type { Objects } from '../../cluster/objects';
import type { Endpoint } from '../endpoints/endpoint';
import type { EndpointStatus, Endpoints } from '../scheduling/scheduling';

/** Kinds that can be dumped, by their name in the URL. */
export const DUMP_KINDS = {
  modelroutes: 'ModelRoute',
  modelservers: 'ModelServer',
  externalmodelproviders: 'ExternalModelProvider',
  pods: 'Pod',
} as const;

/** Kinds of the Gateway API that Kthena dumps too; this router takes no part in it, and knows none. */
export const ABSENT_KINDS = { gateways: 'Gateway', httproutes: 'HTTPRoute', inferencepools: 'InferencePool' } as const;

export type DumpKind = keyof typeof DUMP_KINDS;

/** Everything of one kind that the router knows, in Kthena's shape; null when there is nothing. */
export function dumpKind(kind: DumpKind, objects: Objects, endpoints: Endpoints): Readonly<Record<string, unknown>> {
  const list =
    kind === 'pods' ? dumpPods(objects, endpoints) : objects.list(DUMP_KINDS[kind]).map((each) => dump(each, endpoints));
  return { [kind]: list.length === 0 ? null : list };
}

/** One object, or undefined. */
export function dumpOne(
  kind: DumpKind,
  namespace: string,
  name: string,
  objects: Objects,
  endpoints: Endpoints,
): object | undefined {
  if (kind !== 'pods') {
    const object = objects.get(DUMP_KINDS[kind], namespace, name);
    return object === undefined ? undefined : dump(object, endpoints);
  }
  const pod = objects.get('Pod', namespace, name);
  if (pod === undefined) return undefined;
  const { podIP, phase, startTime } = pod.status ?? {};
  return {
    ...dumpPod(pod, statusesOf(endpoints).get(keyOf(pod)), serversByPod(objects, endpoints)),
    podInfo: { podIP, phase, startTime, labels: pod.metadata.labels ?? {} },
  };
}

function dump(object: KubeObject & { readonly spec: unknown }, endpoints: Endpoints): object {
  const spec = object.kind === 'ExternalModelProvider' ? withoutHeaderValues(object.spec) : object.spec;
  const base = { name: object.metadata.name, namespace: object.metadata.namespace, spec };
  if (object.kind !== 'ModelServer') return base;
  const key = keyOf(object);
  const { prefill, decode } = endpoints.roles(key);
  const pods = podKeys(endpointsOf(key, endpoints));
  if (prefill.length + decode.length === 0) return { ...base, associatedPods: pods };
  return { ...base, associatedPods: pods, decodePods: podKeys(decode), prefillPods: podKeys(prefill) };
}

/** All of a ModelServer's, whatever their role. */
function endpointsOf(key: string, endpoints: Endpoints): readonly Endpoint[] {
  const whole = endpoints.ofModelServer(key) ?? [];
  return [...whole, ...endpoints.roles(key).prefill];
}

function podKeys(list: readonly Endpoint[]): readonly string[] {
  return list.map(({ pod }) => `${pod.namespace}/${pod.name}`);
}

/** Nobody should keep a credential there, and somebody will. */
function withoutHeaderValues(spec: unknown): unknown {
  const { headers, ...rest } = spec as ExternalModelProvider['spec'];
  return headers === undefined ? rest : { ...rest, headers: Object.keys(headers) };
}

function dumpPods(objects: Objects, endpoints: Endpoints): readonly object[] {
  const statuses = statusesOf(endpoints);
  const servers = serversByPod(objects, endpoints);
  return objects
    .list('Pod')
    .filter((pod) => statuses.has(keyOf(pod)))
    .map((pod) => dumpPod(pod, statuses.get(keyOf(pod)), servers));
}

function dumpPod(pod: Pod, status: EndpointStatus | undefined, servers: ReadonlyMap<string, readonly string[]>): object {
  return {
    name: pod.metadata.name,
    namespace: pod.metadata.namespace,
    ...(status === undefined ? {} : { engine: status.endpoint.engine, endpoint: status.endpoint.id }),
    metrics: {
      gpuCacheUsage: status?.kvUsage,
      requestWaitingNum: status?.waiting,
      requestRunningNum: status?.running,
      ttft: status?.timeToFirstTokenSeconds,
      tpot: status?.interTokenLatencySeconds,
      scrapeAgeMs: status?.scrapeAgeMs,
    },
    router: {
      isAvailable: status?.isAvailable ?? false,
      isEjected: status?.isEjected ?? false,
      inFlight: status?.inFlight ?? 0,
      queuedTokens: status?.queuedTokens ?? 0,
      prefillTokensPerSecond: status?.prefillTokensPerSecond,
      indexedBytes: status?.indexedBytes ?? 0,
    },
    models: status?.models ?? [],
    modelServers: servers.get(keyOf(pod)) ?? [],
  };
}

function statusesOf(endpoints: Endpoints): ReadonlyMap<string, EndpointStatus> {
  return new Map(endpoints.all().map((status) => [`${status.endpoint.pod.namespace}/${status.endpoint.pod.name}`, status]));
}

function serversByPod(objects: Objects, endpoints: Endpoints): ReadonlyMap<string, readonly string[]> {
  const servers = new Map<string, string[]>();
  for (const server of objects.list('ModelServer')) {
    for (const key of podKeys(endpointsOf(keyOf(server), endpoints))) {
      servers.set(key, [...(servers.get(key) ?? []), keyOf(server)]);
    }
  }
  return servers;
}
