import { bothRoles, checkedPort, KV_ROLE, type KvWiring, kvTransferConfig, NO_WIRING, type RdmaNetwork } from './wiring';

export interface NixlOptions {
  /** Network cards for the transfer. @default none: KV travels by TCP */
  readonly network?: RdmaNetwork;
  /** Port of vLLM's side channel, on which decode asks prefill where its blocks are. Rank r of a data-parallel engine uses port + r. @default 5600 */
  readonly sideChannelPort?: number;
  /** How long prefill keeps blocks that nobody reads, in seconds; decode renews it while it waits. @default vLLM's, 30 */
  readonly leaseSeconds?: number;
  /** What decode does when blocks do not arrive. @default 'fail': the router tries another pair */
  readonly onLoadFailure?: 'fail' | 'recompute';
  /** SGLang: port of its bootstrap server. @default 8998 */
  readonly bootstrapPort?: number;
}

/** vLLM's own default. */
const SIDE_CHANNEL_PORT = 5600;

/** vLLM's NixlConnector: decode reads blocks out of prefill's memory. */
export function nixlOnVllm({ sideChannelPort = SIDE_CHANNEL_PORT, leaseSeconds, onLoadFailure }: NixlOptions): KvWiring {
  const port = checkedPort('nixl', sideChannelPort);
  const more = {
    ...(onLoadFailure === undefined ? {} : { kv_load_failure_policy: onLoadFailure }),
    ...(leaseSeconds === undefined ? {} : { kv_connector_extra_config: { kv_lease_duration: leaseSeconds } }),
  };
  return {
    handOff: 'nixl',
    tensorParallel: 'multiple',
    usesUcx: true,
    bootstrapPort: undefined,
    roles: bothRoles((role) => ({
      ...NO_WIRING,
      args: kvTransferConfig('NixlConnector', KV_ROLE[role], more),
      env: { VLLM_NIXL_SIDE_CHANNEL_PORT: String(port) },
      // Its default, localhost, would be told to decode as prefill's address.
      podIpEnv: ['VLLM_NIXL_SIDE_CHANNEL_HOST'],
      ports: [{ name: 'kv-side-channel', port }],
    })),
  };
}
