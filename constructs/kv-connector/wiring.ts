import type { ModelServerManifest } from '../../src/api/model-server';
import type { PdRole } from '../engine/engine-spec';
import type { SecretRef } from '../secret-ref';

/** How the router hands a request over, as `ModelServer.spec.kvConnector.type` names it. */
export type HandOff = NonNullable<NonNullable<ModelServerManifest['spec']['kvConnector']>['type']>;

/** Network cards of a pod that read and write other pods' memory. */
export interface RdmaNetwork {
  /** Extended resource of the device plugin, such as `rdma/hca`. */
  readonly resource: string;
  /** How many of it one pod gets, ≥ 1. @default 1 */
  readonly count?: number;
  /** Cards to use, such as `['mlx5_0', 'mlx5_1']`. @default all that the pod sees */
  readonly devices?: readonly string[];
}

/** A port that the other role's pods or the router connect to, beside the engine's own. */
export interface WiringPort {
  /** Name of the container port, at most 15 characters. */
  readonly name: string;
  readonly port: number;
}

/** What one role's engine and pods need so that KV travels. */
export interface RoleWiring {
  /** Words for the engine's command line. A custom engine writes its own. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Variables that hold the pod's own address. */
  readonly podIpEnv: readonly string[];
  readonly secretEnv: Readonly<Record<string, SecretRef>>;
  readonly ports: readonly WiringPort[];
  /** A claim that pods of both roles mount for writing. */
  readonly sharedFolder: { readonly claim: string; readonly mountPath: string } | undefined;
}

/** Nothing, for a wiring to add to. */
export const NO_WIRING: RoleWiring = { args: [], env: {}, podIpEnv: [], secretEnv: {}, ports: [], sharedFolder: undefined };

/** How the tensor-parallel sizes of the two roles must relate: one a multiple of the other, equal, or both 1. */
export type TensorParallelRule = 'multiple' | 'equal' | 'one';

/** A connector on one engine: the same value for both roles. */
export interface KvWiring {
  /** Undefined where the engine's own protocol is used, which the router knows by the engine. */
  readonly handOff: HandOff | undefined;
  readonly tensorParallel: TensorParallelRule;
  /** Whether UCX moves the bytes. */
  readonly usesUcx: boolean;
  /** Port of prefill pods that a router asks without being told which; undefined when there is none. */
  readonly bootstrapPort: number | undefined;
  readonly roles: Readonly<Record<PdRole, RoleWiring>>;
}

/** Port that routers assume where no object can tell them: the default of SGLang and of vLLM's Mooncake connector. */
export const DEFAULT_BOOTSTRAP_PORT = 8998;

/** Name of the container port of a bootstrap server. */
export const BOOTSTRAP_PORT_NAME = 'kv-bootstrap';

/** @throws RangeError when `port` is none. */
export function checkedPort(maker: string, port: number): number {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new RangeError(`KvConnector.${maker}: port ${port} is no port; use 1 to 65535`);
}

/** `--kv-transfer-config` of vLLM, keys in a fixed order. */
export function kvTransferConfig(
  connector: string,
  role: 'kv_producer' | 'kv_consumer' | 'kv_both',
  more: Readonly<Record<string, unknown>> = {},
): readonly string[] {
  return ['--kv-transfer-config', JSON.stringify({ kv_connector: connector, kv_role: role, ...more })];
}

/** vLLM's name of a role. */
export const KV_ROLE = { prefill: 'kv_producer', decode: 'kv_consumer' } as const;

/** Both roles, each made by `make`. */
export function bothRoles(make: (role: PdRole) => RoleWiring): Readonly<Record<PdRole, RoleWiring>> {
  return { prefill: make('prefill'), decode: make('decode') };
}
