import {
  BOOTSTRAP_PORT_NAME,
  bothRoles,
  checkedPort,
  DEFAULT_BOOTSTRAP_PORT,
  KV_ROLE,
  type KvWiring,
  kvTransferConfig,
  NO_WIRING,
  type RdmaNetwork,
} from './wiring';

export interface MooncakeOptions {
  /** Network cards for the transfer. @default none: KV travels by TCP */
  readonly network?: RdmaNetwork;
  /** Port of prefill's bootstrap server, where decode finds its peer. Kthena's router knows only the default. @default 8998 */
  readonly bootstrapPort?: number;
  /**
   * vLLM: how long prefill keeps blocks that no decode fetched, in seconds. A client that leaves between the two pins them that long.
   *
   * @default 120, four times NIXL's lease; vLLM's own default of 480 pins the cache for minutes
   */
  readonly abortSeconds?: number;
}

const ABORT_SECONDS = 120;

/** vLLM's MooncakeConnector: prefill writes blocks into decode's memory. */
export function mooncakeOnVllm({
  network,
  bootstrapPort = DEFAULT_BOOTSTRAP_PORT,
  abortSeconds = ABORT_SECONDS,
}: MooncakeOptions): KvWiring {
  const port = checkedPort('mooncake', bootstrapPort);
  // vLLM's default protocol is rdma, which does not start without such a card.
  const more = network === undefined ? { kv_connector_extra_config: { mooncake_protocol: 'tcp' } } : {};
  return {
    handOff: 'mooncake',
    tensorParallel: 'multiple',
    usesUcx: false,
    bootstrapPort: port,
    roles: bothRoles((role) => ({
      ...NO_WIRING,
      args: kvTransferConfig('MooncakeConnector', KV_ROLE[role], more),
      env: {
        VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT: String(abortSeconds),
        ...(role === 'prefill' ? { VLLM_MOONCAKE_BOOTSTRAP_PORT: String(port) } : {}),
      },
      ports: role === 'prefill' ? [{ name: BOOTSTRAP_PORT_NAME, port }] : [],
    })),
  };
}
