import type { EngineName } from '../catalog/engines/engine';
import type { FlagReader } from './engine-flags';

/** How an engine hands KV to others, or takes it from them. */
export type KvTransferPlan =
  /** vLLM's NixlConnector: decode reads blocks out of prefill's memory. */
  | {
      readonly connector: 'nixl';
      /** Port on which decode asks where blocks are; rank r of a data-parallel engine has this + r. */
      readonly sideChannelPort: number;
      /** How long blocks are kept that nobody reads. */
      readonly leaseSeconds: number;
      readonly onLoadFailure: 'fail' | 'recompute';
    }
  /** vLLM's MooncakeConnector: both legs name one transfer. */
  | {
      readonly connector: 'mooncake';
      readonly isProducer: boolean;
      readonly bootstrapPort: number;
      /** How long blocks are kept that nobody fetches. */
      readonly abortSeconds: number;
      readonly onLoadFailure: 'fail' | 'recompute';
    }
  /** LMCache and vLLM's ExampleConnector: KV lies in a store that all engines of the same name for it share. */
  | {
      readonly connector: 'store';
      readonly store: string;
      /** Tokens of what is stored under one key; undefined: a KV block. */
      readonly chunkTokens?: number;
    }
  /** SGLang: both legs meet at prefill's bootstrap server. */
  | { readonly connector: 'sglang'; readonly role: 'prefill' | 'decode'; readonly bootstrapPort: number };

/** Defaults of vLLM 0.32 and SGLang 0.5.23; LMCache's chunk. */
const SIDE_CHANNEL_PORT = 5600;
const LEASE_SECONDS = 30;
const BOOTSTRAP_PORT = 8998;
const ABORT_SECONDS = 480;
const CHUNK_TOKENS = 256;

/** Reads it from `--kv-transfer-config` or `--disaggregation-mode` and the environment; undefined for an engine that keeps its KV. */
export function kvTransferPlan(
  engine: EngineName,
  flags: FlagReader,
  env: Readonly<Record<string, string>>,
): KvTransferPlan | undefined {
  return engine === 'sglang' ? sglangTransfer(flags) : vllmTransfer(flags.text('--kv-transfer-config'), env);
}

function sglangTransfer(flags: FlagReader): KvTransferPlan | undefined {
  const role = flags.text('--disaggregation-mode');
  if (role !== 'prefill' && role !== 'decode') return undefined;
  return { connector: 'sglang', role, bootstrapPort: flags.port('--disaggregation-bootstrap-port') ?? BOOTSTRAP_PORT };
}

function vllmTransfer(text: string | undefined, env: Readonly<Record<string, string>>): KvTransferPlan | undefined {
  const config = objectOf(text);
  const extra = objectOf(config.kv_connector_extra_config);
  const onLoadFailure = config.kv_load_failure_policy === 'recompute' ? 'recompute' : 'fail';
  switch (config.kv_connector) {
    case 'NixlConnector':
    case 'NixlPullConnector':
      return {
        connector: 'nixl',
        sideChannelPort: positive(env.VLLM_NIXL_SIDE_CHANNEL_PORT) ?? SIDE_CHANNEL_PORT,
        leaseSeconds: positive(extra.kv_lease_duration) ?? LEASE_SECONDS,
        onLoadFailure,
      };
    case 'MooncakeConnector':
      return {
        connector: 'mooncake',
        isProducer: config.kv_role !== 'kv_consumer',
        bootstrapPort: positive(env.VLLM_MOONCAKE_BOOTSTRAP_PORT) ?? BOOTSTRAP_PORT,
        abortSeconds: positive(env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT) ?? ABORT_SECONDS,
        onLoadFailure,
      };
    case 'LMCacheConnectorV1':
      // Without a remote store LMCache keeps KV to its own process.
      if (env.LMCACHE_REMOTE_URL === undefined) return undefined;
      return {
        connector: 'store',
        store: env.LMCACHE_REMOTE_URL,
        chunkTokens: positive(env.LMCACHE_CHUNK_SIZE) ?? CHUNK_TOKENS,
      };
    case 'ExampleConnector':
    case 'SharedStorageConnector':
      if (typeof extra.shared_storage_path !== 'string') return undefined;
      return { connector: 'store', store: extra.shared_storage_path };
    default:
      return undefined;
  }
}

/** An object, itself or as JSON; empty for everything else: what the engine refuses it refuses when it starts. */
function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  let parsed = value;
  if (typeof value === 'string') {
    try {
      parsed = JSON.parse(value);
    } catch {
      return {};
    }
  }
  return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
    ? (parsed as Readonly<Record<string, unknown>>)
    : {};
}

function positive(value: unknown): number | undefined {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;
  return number > 0 ? number : undefined;
}
