import { SecretRef } from '../secret-ref';
import { bothRoles, KV_ROLE, type KvWiring, kvTransferConfig, NO_WIRING, type RdmaNetwork } from './wiring';

export interface LmCacheOptions {
  /**
   * Store that both roles reach, such as `redis://kv-store:6379` or `lm://kv-store:65432`; a `SecretRef` for one with a password.
   */
  readonly remoteUrl: string | SecretRef;
  /** How KV is written to the store. @default 'naive', as it is */
  readonly serde?: 'naive' | 'cachegen' | 'kivi';
  /** Tokens of one chunk; shorter prompts never reach the store. @default 256 */
  readonly chunkSize?: number;
  /** CPU memory of LMCache in each engine process, in GiB. It does not start without. @default 1 */
  readonly localMemoryGiB?: number;
  /** Network cards of the pods. @default none */
  readonly network?: RdmaNetwork;
}

/** @throws RangeError when `remoteUrl` is no URL, or carries a password that would end up in the repository. */
export function checkedLmCache(options: LmCacheOptions): LmCacheOptions {
  const { remoteUrl } = options;
  if (remoteUrl instanceof SecretRef) return options;
  const url = URL.canParse(remoteUrl) ? new URL(remoteUrl) : undefined;
  if (url === undefined) throw new RangeError(`KvConnector.lmcache: remoteUrl ${remoteUrl} is no URL; write redis://host:port`);
  if (url.password !== '' || url.username !== '')
    throw new RangeError('KvConnector.lmcache: remoteUrl has a password in it; give SecretRef.existing(name, key)');
  return options;
}

/** vLLM with LMCache: prefill writes chunks into a store, decode reads them from there. */
export function lmCacheOnVllm({ remoteUrl, serde = 'naive', chunkSize = 256, localMemoryGiB = 1 }: LmCacheOptions): KvWiring {
  const [env, secretEnv]: readonly [Record<string, string>, Record<string, SecretRef>] =
    remoteUrl instanceof SecretRef ? [{}, { LMCACHE_REMOTE_URL: remoteUrl }] : [{ LMCACHE_REMOTE_URL: remoteUrl }, {}];
  return {
    handOff: 'lmcache',
    // A chunk's key holds the number of ranks and the rank.
    tensorParallel: 'equal',
    usesUcx: false,
    bootstrapPort: undefined,
    roles: bothRoles((role) => ({
      ...NO_WIRING,
      args: kvTransferConfig('LMCacheConnectorV1', KV_ROLE[role]),
      env: {
        LMCACHE_CHUNK_SIZE: String(chunkSize),
        LMCACHE_LOCAL_CPU: 'True',
        LMCACHE_MAX_LOCAL_CPU_SIZE: String(localMemoryGiB),
        ...env,
        LMCACHE_REMOTE_SERDE: serde,
        // Chunks are found by Python's hash of their tokens, which differs from process to process otherwise.
        PYTHONHASHSEED: '0',
      },
      secretEnv,
    })),
  };
}
