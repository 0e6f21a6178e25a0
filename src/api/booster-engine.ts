import type { BoosterWorker, ModelBoosterSpec } from './model-booster';
import type { KvConnector } from './model-server';

/** A value that a ModelBooster's worker configuration leads to, or what is wrong with it. */
export type BoosterValue<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'wrong'; readonly message: string };

export const DEFAULT_ENGINE_PORT = 8000;
/** vLLM's connector class → the router's name of the transfer. */
export const KV_CONNECTORS: Readonly<Record<string, KvConnector['type']>> = {
  MooncakeConnector: 'mooncake',
  MooncakeConnectorV1: 'mooncake',
  NixlConnector: 'nixl',
  LMCacheConnectorV1: 'lmcache',
};
/** What vLLM calls the part that a role may have in the transfer. */
export const KV_ROLES: Readonly<Record<'prefill' | 'decode', readonly string[]>> = {
  prefill: ['kv_producer', 'kv_both'],
  decode: ['kv_consumer', 'kv_both'],
};

const wrong = (message: string) => ({ kind: 'wrong', message }) as const;

const configOf = (worker: BoosterWorker): Readonly<Record<string, unknown>> =>
  typeof worker.config === 'object' && worker.config !== null ? (worker.config as Record<string, unknown>) : {};

/** Port of a booster's engines: `port` in the configuration of its workers, which must agree; 8000 when none says one. */
export function boosterEnginePort({ backend }: ModelBoosterSpec): BoosterValue<number> {
  const ports = new Set<number>();
  for (const worker of backend.workers) {
    if (!['server', 'prefill', 'decode'].includes(worker.type)) continue;
    const { port } = configOf(worker);
    if (port === undefined) {
      ports.add(DEFAULT_ENGINE_PORT);
      continue;
    }
    const number = typeof port === 'string' && /^\d+$/.test(port) ? Number(port) : port;
    if (typeof number !== 'number' || !Number.isInteger(number) || number < 1 || number > 65535) {
      return wrong(`invalid port ${JSON.stringify(port)} for worker ${worker.type}`);
    }
    ports.add(number);
  }
  const [first, second] = ports;
  if (second !== undefined) return wrong(`workers use different engine ports: ${first} and ${second}`);
  return { kind: 'value', value: first ?? DEFAULT_ENGINE_PORT };
}

/** KV transfer of a disaggregated booster, from `kv-transfer-config` of its prefill and decode worker; undefined when neither has one. */
export function boosterKvConnector({ backend }: ModelBoosterSpec): BoosterValue<KvConnector['type'] | undefined> {
  const found: { readonly role: string; readonly type: KvConnector['type'] | undefined }[] = [];
  for (const role of ['prefill', 'decode'] as const) {
    const workers = backend.workers.filter(({ type }) => type === role);
    if (workers.length > 1) return wrong(`there is more than one ${role} worker`);
    const config = workers[0] === undefined ? undefined : configOf(workers[0])['kv-transfer-config'];
    if (config === undefined) {
      found.push({ role, type: undefined });
      continue;
    }
    const connector = readTransferConfig(config, role);
    if (connector.kind === 'wrong') return connector;
    found.push({ role, type: connector.value });
  }
  const [prefill, decode] = found;
  if (prefill!.type === decode!.type) return { kind: 'value', value: prefill!.type };
  if (prefill!.type === undefined || decode!.type === undefined) {
    return wrong(`only the ${prefill!.type === undefined ? 'decode' : 'prefill'} worker has a kv-transfer-config`);
  }
  return wrong(`the workers use different KV connectors: ${prefill!.type} and ${decode!.type}`);
}

function readTransferConfig(config: unknown, role: keyof typeof KV_ROLES): BoosterValue<KvConnector['type']> {
  if (typeof config !== 'string') return wrong(`kv-transfer-config of the ${role} worker is no string`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(config);
  } catch {
    return wrong(`kv-transfer-config of the ${role} worker is no JSON`);
  }
  const { kv_connector: connector, kv_role: kvRole } = (parsed ?? {}) as {
    readonly kv_connector?: unknown;
    readonly kv_role?: unknown;
  };
  if (typeof connector !== 'string' || connector === '')
    return wrong(`kv-transfer-config of the ${role} worker has no kv_connector`);
  if (typeof kvRole !== 'string' || kvRole === '') return wrong(`kv-transfer-config of the ${role} worker has no kv_role`);
  const type = Object.hasOwn(KV_CONNECTORS, connector) ? KV_CONNECTORS[connector] : undefined;
  if (type === undefined)
    return wrong(`unsupported KV connector ${connector}; supported are ${Object.keys(KV_CONNECTORS).sort().join(', ')}`);
  if (!KV_ROLES[role].includes(kvRole))
    return wrong(`the ${role} worker has kv_role ${kvRole}; use ${KV_ROLES[role].join(' or ')}`);
  return { kind: 'value', value: type };
}
