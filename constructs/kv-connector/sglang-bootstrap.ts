import {
  BOOTSTRAP_PORT_NAME,
  bothRoles,
  checkedPort,
  DEFAULT_BOOTSTRAP_PORT,
  type KvWiring,
  NO_WIRING,
  type RdmaNetwork,
} from './wiring';

/** SGLang's `--disaggregation-transfer-backend`. */
export type SglangTransferBackend = 'mooncake' | 'mooncake_tcp' | 'nixl' | 'ascend' | 'mori';

export interface SglangBootstrapOptions {
  /** What moves the bytes. @default 'mooncake' with a network, else 'mooncake_tcp' */
  readonly backend?: SglangTransferBackend;
  /** Network cards for the transfer. @default none */
  readonly network?: RdmaNetwork;
  /** Port of prefill's bootstrap server. Kthena's router knows only the default. @default 8998 */
  readonly bootstrapPort?: number;
}

/** SGLang's own protocol: both roles get each request at once and meet by prefill's bootstrap server. */
export function sglangBootstrap({ network, backend, bootstrapPort = DEFAULT_BOOTSTRAP_PORT }: SglangBootstrapOptions): KvWiring {
  const port = checkedPort('sglang', bootstrapPort);
  const chosen = backend ?? (network === undefined ? 'mooncake_tcp' : 'mooncake');
  const devices = network?.devices ?? [];
  return {
    // No type: with one, routers would speak vLLM's protocol of that name to SGLang.
    handOff: undefined,
    tensorParallel: 'multiple',
    usesUcx: chosen === 'nixl',
    bootstrapPort: port,
    roles: bothRoles((role) => ({
      ...NO_WIRING,
      args: [
        '--disaggregation-mode',
        role,
        '--disaggregation-transfer-backend',
        chosen,
        '--disaggregation-bootstrap-port',
        String(port),
        ...(devices.length === 0 ? [] : ['--disaggregation-ib-device', devices.join(',')]),
      ],
      ports: role === 'prefill' ? [{ name: BOOTSTRAP_PORT_NAME, port }] : [],
    })),
  };
}
