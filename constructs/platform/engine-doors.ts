import { decodeKind } from '../../src/api/decode-object';
import { apiKindOf } from '../../src/api/kinds';
import type { KubeObject } from '../../src/api/meta';
import type { Container } from '../../src/api/pod';
import { BOOTSTRAP_PORT_NAME } from '../kv-connector/wiring';
import { type HostPort, hostPortOf } from './network-destination';

/** Ports of a model's pods beside that of its engine, and what they connect to beside each other. */
export interface EngineDoors {
  /** Where decode, and with vLLM's Mooncake the router, learn about prefill's pods. */
  readonly bootstrapPorts: readonly number[];
  /** Of the agent beside the engine: Kvasir's, or Kthena's `runtime`. */
  readonly agentPorts: readonly number[];
  /** Stores through which KV cache travels. */
  readonly stores: readonly HostPort[];
  /** A store's address is in a Secret. */
  readonly hasSecretStore: boolean;
  /** Hubs and buckets that downloads are told to use instead of the public ones. */
  readonly endpoints: readonly HostPort[];
}

/** Names of the container beside an engine. */
const AGENTS: readonly string[] = ['agent', 'kvasir-agent', 'runtime'];
/** Variables of LMCache, of Hugging Face's client, and of the downloader for buckets. */
const STORE = 'LMCACHE_REMOTE_URL';
const ENDPOINTS: readonly string[] = ['HF_ENDPOINT', 'ENDPOINT'];
/** Ports of stores whose URLs may leave them out. */
const STORE_PORTS = { 'redis:': 6379, 'rediss:': 6379 };

/** What the pods of `workloads` open and reach, by their container ports, flags and environment. */
export function engineDoors(workloads: readonly KubeObject[]): EngineDoors {
  const containers = workloads.flatMap((workload) => containersIn(workload));
  const env = containers.flatMap((container) => container.env ?? []);
  const valuesOf = (names: readonly string[]): readonly string[] =>
    env.filter(({ name }) => names.includes(name)).flatMap(({ value }) => (value === undefined || value === '' ? [] : [value]));
  return {
    bootstrapPorts: sorted(containers.flatMap(bootstrapPorts)),
    agentPorts: sorted(
      containers.filter(({ name }) => AGENTS.includes(name)).flatMap(({ ports = [] }) => ports.map((port) => port.containerPort)),
    ),
    stores: known(valuesOf([STORE]).map((url) => hostPortOf(url, STORE_PORTS))),
    hasSecretStore: env.some(({ name, valueFrom }) => name === STORE && valueFrom !== undefined),
    endpoints: known(valuesOf(ENDPOINTS).map((url) => hostPortOf(url))),
  };
}

/** Ports of pods that policies of each namespace read metrics from. */
export function metricPorts(objects: readonly KubeObject[]): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, Set<number>>();
  for (const object of objects) {
    const kind = apiKindOf(object);
    if (kind !== 'AutoscalingPolicy' && kind !== 'AutoscalingPolicyBinding') continue;
    const decoded = decodeKind(kind, object);
    if (decoded.kind === 'invalid') continue;
    const namespace = object.metadata.namespace ?? 'default';
    const ports = found.get(namespace) ?? new Set();
    for (const port of podSourcePorts(decoded.value.spec)) ports.add(port);
    found.set(namespace, ports);
  }
  return new Map([...found].map(([namespace, ports]) => [namespace, sorted([...ports])]));
}

/** Ports of every `pod` under a `metricSources`. */
function podSourcePorts(value: unknown): readonly number[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    if (key !== 'metricSources') return podSourcePorts(child);
    return Object.values(child as Readonly<Record<string, { readonly pod?: { readonly port: number } }>>).flatMap(({ pod }) =>
      pod === undefined ? [] : [pod.port],
    );
  });
}

function bootstrapPorts({ ports = [], env = [], args = [], command = [] }: Container): readonly number[] {
  const words = [...command, ...args].flatMap((word) => (word.startsWith('--') ? word.split('=', 2) : [word]));
  const flag = words.indexOf('--disaggregation-bootstrap-port');
  const told = [
    env.find(({ name }) => name === 'VLLM_MOONCAKE_BOOTSTRAP_PORT')?.value,
    flag < 0 ? undefined : words[flag + 1],
  ].map(Number);
  return [
    ...ports.filter(({ name }) => name === BOOTSTRAP_PORT_NAME).map(({ containerPort }) => containerPort),
    ...told.filter((port) => Number.isInteger(port) && port > 0),
  ];
}

/** Containers and init containers anywhere in `object`. */
function containersIn(object: object): readonly Container[] {
  return Object.entries(object).flatMap(([key, value]): readonly Container[] => {
    if ((key === 'containers' || key === 'initContainers') && Array.isArray(value)) return value as readonly Container[];
    return typeof value === 'object' && value !== null ? containersIn(value as object) : [];
  });
}

const sorted = (ports: readonly number[]): readonly number[] => [...new Set(ports)].sort((a, b) => a - b);

/** Without what cannot be read, each once, in an order that does not depend on that of the pods. */
function known(hosts: readonly (HostPort | undefined)[]): readonly HostPort[] {
  const byName = new Map(hosts.flatMap((host) => (host === undefined ? [] : [[`${host.host}:${host.port}`, host] as const])));
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, host]) => host);
}
