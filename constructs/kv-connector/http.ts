import { compareVersions } from '../../src/catalog/engines/version';
import { bothRoles, type KvWiring, kvTransferConfig, NO_WIRING, type RdmaNetwork } from './wiring';

export interface HttpConnectorOptions {
  /**
   * vLLM: a claim through which KV travels as files. Many nodes must be able to mount it for writing. It has no clean-up of its own and
   * is meant for trials.
   *
   * @default none, for a custom engine that shares KV by itself
   */
  readonly sharedFolder?: {
    /** Name of the claim. */
    readonly claim: string;
    /** Folder in which it is mounted. @default '/kv' */
    readonly mountPath?: string;
  };
  /** Network cards of the pods. @default none */
  readonly network?: RdmaNetwork;
}

/** Two plain requests, prefill before decode; the engines share KV behind the router's back. */
export function plainHttp(): KvWiring {
  const roles = bothRoles(() => NO_WIRING);
  return { handOff: 'http', tensorParallel: 'multiple', usesUcx: false, bootstrapPort: undefined, roles };
}

/** First version that has it under this name (vLLM pull request 30201); before, it was `SharedStorageConnector`. */
const EXAMPLE_CONNECTOR_SINCE = '0.13';

/**
 * vLLM's ExampleConnector: KV as files of a shared folder. Undefined without a folder, since nothing would be shared.
 *
 * @param version undefined for a custom engine, which names it itself.
 */
export function sharedFolderOnVllm({ sharedFolder }: HttpConnectorOptions, version: string | undefined): KvWiring | undefined {
  if (sharedFolder === undefined) return undefined;
  const { claim, mountPath = '/kv' } = sharedFolder;
  const isOld = version !== undefined && compareVersions(version, EXAMPLE_CONNECTOR_SINCE) < 0;
  const connector = isOld ? 'SharedStorageConnector' : 'ExampleConnector';
  return {
    ...plainHttp(),
    // Files are named after layers, not ranks: ranks would overwrite each other's.
    tensorParallel: 'one',
    roles: bothRoles(() => ({
      ...NO_WIRING,
      // It both loads and saves in either role.
      args: kvTransferConfig(connector, 'kv_both', { kv_connector_extra_config: { shared_storage_path: mountPath } }),
      sharedFolder: { claim, mountPath },
    })),
  };
}
