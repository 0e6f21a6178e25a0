import type { Accelerator } from '../accelerator';
import type { Engine } from '../engine/engine';
import type { PdRole } from '../engine/engine-spec';
import type { GangOptions } from '../gang-options';
import type { ModelSource } from '../model-source';
import { Replicas } from '../replicas';
import type { Rollout } from '../rollout';
import type { Parallelism } from './parallelism';
import type { PodSecurityOptions } from './pod-security';
import type { RoleSet } from './role-set';
import type { Recovery, WorkloadName } from './workload';

/** The engine's part of a serving group: how pods of one pool are made. */
export interface PoolProps {
  /** GPU class of the pods. */
  readonly accelerator: Accelerator;
  /** GPUs of one pod. @default 1 */
  readonly gpusPerPod?: number;
  /** Pods that make up one replica. @default 1 */
  readonly podsPerReplica?: number;
  /**
   * How the model is split over a replica's GPUs; where only one is given, the other takes the GPUs that are left.
   *
   * @default tensor parallel over one pod's GPUs, pipeline over its pods
   */
  readonly parallelism?: Partial<Parallelism>;
  /**
   * What runs the pods. Each engine says at synth what it cannot do, and which can.
   *
   * @default 'Deployment' for one pod per replica, else 'LeaderWorkerSet'
   */
  readonly workload?: WorkloadName;
  /** What must be scheduled together. @default each pod alone */
  readonly gang?: GangOptions;
  /** What is made anew when a pod of a replica of several pods fails. @default 'replica': its pods need each other */
  readonly recovery?: Recovery;
  /** A fixed number, or `between(min, max)` for a scaler. @default 1 */
  readonly replicas?: number | Replicas;
  /** Price of one replica, in currency units per hour. @default the catalogue's list price of its GPUs, where it has one */
  readonly costPerReplicaHour?: number;
  /** @default Rollout.inPlace(1), which needs no spare GPUs */
  readonly rollout?: Rollout;
  /** CPU request of a pod, in cores. @default 4, and 2 more for each GPU after the first */
  readonly cpu?: number;
  /** Memory request of a pod, in GiB. No limit is set: engines map their weights. @default 16 per GPU, shared memory included */
  readonly memoryGiB?: number;
  /** Size of `/dev/shm`, in GiB, for the engine's workers. @default 2 per GPU, at least 4 */
  readonly sharedMemoryGiB?: number;
  /** Longest answer that must survive a rollout or drain, in tokens. @default 4096 */
  readonly longestAnswerTokens?: number;
  /** Longest start of the container until it is ready, in seconds. @default twice what the catalogue expects, 1800 for unknown models */
  readonly startupSeconds?: number;
  /** Environment variables of the engine. @default none */
  readonly env?: Readonly<Record<string, string>>;
  /** @default none */
  readonly priorityClassName?: string;
  /** What the pods may do beyond the least. @default nothing */
  readonly security?: PodSecurityOptions;
}

export interface ServingGroupProps extends PoolProps {
  /** Name of the objects. @default the construct's id */
  readonly name?: string;
  /** Where the model comes from. */
  readonly source: ModelSource;
  /** What runs it. */
  readonly engine: Engine;
  /** Name under which the engine serves the model. @default the objects' name */
  readonly servedModelName?: string;
  /** Labels of pods and objects, beside `app`. Pods that answer no requests do not get `kvasir.dev/model`. @default none */
  readonly labels?: Readonly<Record<string, string>>;
  /** Its half of a disaggregated model, told to the engine. @default it does both */
  readonly pdRole?: PdRole;
  /** The object of several groups that it is a role of; `workload`, `gang` and PodGroup are then the set's. @default an object of its own */
  readonly memberOf?: { readonly set: RoleSet; readonly role: string };
}

/** Most pods that all of `pools` may run at once. */
export function mostPods(pools: readonly Pick<PoolProps, 'replicas' | 'podsPerReplica'>[]): number {
  return pools.reduce((sum, { replicas = 1, podsPerReplica = 1 }) => sum + Replicas.from(replicas).max * podsPerReplica, 0);
}
