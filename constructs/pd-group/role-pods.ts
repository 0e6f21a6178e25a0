import type { Engine } from '../engine/engine';
import type { PdRole } from '../engine/engine-spec';
import { engineWithArgs } from '../engine/engine-with-args';
import type { KvConnector } from '../kv-connector';
import { networkEnvironment, podPatchOf } from '../kv-connector/pod-wiring';
import { type KvWiring, NO_WIRING } from '../kv-connector/wiring';
import type { PoolProps } from '../serving-group';
import type { PodPatch } from '../workload/pod-override';
import { HOME } from '../workload/pod-security';

/** One role's part of a serving group's props, and what is merged into its pods. */
export interface RolePods {
  readonly engine: Engine;
  readonly pool: Pick<PoolProps, 'env' | 'security'>;
  readonly patch: PodPatch;
}

/**
 * What a connector makes of one role. The user's own environment wins.
 *
 * @param wiring undefined where the connector does not work on the engine, which is reported elsewhere.
 */
export function rolePods(
  role: PdRole,
  engine: Engine,
  connector: KvConnector,
  wiring: KvWiring | undefined,
  { accelerator, env, security }: Pick<PoolProps, 'accelerator' | 'env' | 'security'>,
): RolePods {
  const { network } = connector;
  const own = wiring?.roles[role] ?? NO_WIRING;
  return {
    engine: engineWithArgs(engine, own.args),
    pool: {
      env: {
        // Root's own home is on the image's file system, which is read-only.
        ...(network === undefined ? {} : { HOME }),
        ...networkEnvironment(network, accelerator, wiring?.usesUcx ?? false),
        ...own.env,
        ...env,
      },
      security: network === undefined ? security : withPinnedMemory(security),
    },
    patch: podPatchOf(own, network),
  };
}

/**
 * RDMA cards read memory that cannot be swapped, beyond the limit that container runtimes set. IPC_LOCK lifts it, and Linux gives an added
 * capability to root alone, so that pods with such a card run as the image's user unless told otherwise.
 */
function withPinnedMemory(security: PoolProps['security']): PoolProps['security'] {
  const added = security?.addCapabilities ?? [];
  return {
    runAsImageUser: true,
    ...security,
    addCapabilities: added.includes('IPC_LOCK') ? added : [...added, 'IPC_LOCK'],
  };
}
