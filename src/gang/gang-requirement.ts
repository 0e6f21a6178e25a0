import { addQuantities, type ResourceList, timesQuantity } from './resource-list';

/** Pods of one kind in a gang, such as prefill. */
export interface GangRole {
  readonly name: string;
  readonly replicas: number;
  /** Replicas that must fit, where that is fewer than `replicas`. @default `replicas` */
  readonly minReplicas?: number;
  /** Pods of a replica, its entry included. */
  readonly podsPerReplica: number;
  /** Requests of a replica's entry pod and of each of its other pods. */
  readonly entryRequests: ResourceList;
  readonly workerRequests: ResourceList;
}

/** Part of a gang that must fit as a whole: the replicas of one role. */
export interface SubGroup {
  readonly name: string;
  /** Pods of one replica. */
  readonly size: number;
  /** Replicas that must fit. */
  readonly minGroups: number;
}

/** What must fit into the cluster before any pod of a gang starts. */
export interface GangRequirement {
  readonly minMember: number;
  readonly minResources: Readonly<Record<string, string>>;
  readonly subGroups: readonly SubGroup[];
}

/** Counts as Kthena's controller does: every role at its smallest number of replicas, all pods of each, their container requests. */
export function gangRequirement(roles: readonly GangRole[]): GangRequirement {
  const counted = roles.map((role) => ({ role, replicas: minReplicasOf(role) }));
  return {
    minMember: counted.reduce((sum, { role, replicas }) => sum + role.podsPerReplica * replicas, 0),
    minResources: addQuantities(
      counted.flatMap(({ role, replicas }) => [
        timesQuantity(role.entryRequests, replicas),
        timesQuantity(role.workerRequests, replicas * (role.podsPerReplica - 1)),
      ]),
    ),
    subGroups: counted.map(({ role, replicas }) => ({ name: role.name, size: role.podsPerReplica, minGroups: replicas })),
  };
}

function minReplicasOf({ replicas, minReplicas }: GangRole): number {
  return Math.min(replicas, minReplicas ?? replicas);
}
