import { isPodReady, type Pod } from '../../../src/api/pod';
import { disaggregatedPosition, disaggregatedRevision } from '../../../src/expand/expand-disaggregated-set';
import { leaderWorkerPosition, leaderWorkerRevision, sizeOf } from '../../../src/expand/expand-leader-worker-set';
import {
  DisaggregatedLabels,
  type DisaggregatedSet,
  LeaderWorkerLabels,
  type LeaderWorkerSet,
} from '../../../src/expand/leader-worker-workload';
import { isUnitReady, type PodUnit, unitsBy } from '../../../src/expand/victims';

/** A condition, less what its writer fills in. */
export interface ConditionFacts {
  readonly type: string;
  readonly isTrue: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Status of a LeaderWorkerSet, its conditions apart: replicas are groups. */
export function leaderWorkerStatus(set: LeaderWorkerSet, pods: readonly Pod[]) {
  const wanted = set.spec.replicas ?? 1;
  const revision = leaderWorkerRevision(set);
  const groups = unitsBy(pods, (pod) => leaderWorkerPosition(set, pod)?.group);
  const ready = groups.filter(
    ({ ordinal, pods: members }) => members.length === sizeOf(set) && isUnitReady({ ordinal, pods: members }),
  );
  const isUpdated = (group: PodUnit) =>
    group.pods.every(({ metadata }) => metadata.labels?.[LeaderWorkerLabels.revision] === revision);
  const updated = groups.filter(isUpdated);
  const isAvailable = ready.filter(isUpdated).length >= wanted && groups.length === wanted;
  const isUpdating = updated.length < groups.length;
  return {
    status: {
      observedGeneration: set.metadata.generation,
      replicas: groups.length,
      readyReplicas: ready.length,
      updatedReplicas: updated.length,
      hpaPodSelector: `${LeaderWorkerLabels.name}=${set.metadata.name},${LeaderWorkerLabels.workerIndex}=0`,
    },
    conditions: [
      facts('Available', isAvailable, 'AllGroupsReady', `${ready.length} of ${wanted} groups are ready`),
      facts('Progressing', !isAvailable, 'GroupsProgressing', 'Groups are being made or removed'),
      facts('UpdateInProgress', isUpdating, 'GroupsUpdating', `${groups.length - updated.length} groups are of an old revision`),
    ],
  };
}

/** Groups of each role of a DisaggregatedSet, over all slices and revisions. */
export function roleCounts(set: DisaggregatedSet, pods: readonly Pod[]) {
  const revision = disaggregatedRevision(set);
  return set.spec.roles.map(({ name, spec }) => {
    const own = pods.filter((pod) => disaggregatedPosition(pod)?.role === name);
    const leaders = own.filter(({ metadata }) => metadata.labels?.[LeaderWorkerLabels.workerIndex] === '0');
    const groupOf = ({ metadata }: Pod) => metadata.labels?.[LeaderWorkerLabels.groupKey];
    return {
      name,
      wanted: (spec.replicas ?? 1) * (set.spec.slices ?? 1),
      replicas: leaders.length,
      readyReplicas: leaders.filter((leader) => own.filter((pod) => groupOf(pod) === groupOf(leader)).every(isPodReady)).length,
      updatedReplicas: leaders.filter(({ metadata }) => metadata.labels?.[DisaggregatedLabels.revision] === revision).length,
    };
  });
}

/** Status of a DisaggregatedSet, its conditions apart. */
export function disaggregatedStatus(set: DisaggregatedSet, pods: readonly Pod[]) {
  const roles = roleCounts(set, pods);
  const isAvailable = roles.every(
    ({ wanted, replicas, readyReplicas, updatedReplicas }) =>
      readyReplicas === wanted && updatedReplicas === wanted && replicas === wanted,
  );
  return {
    status: {
      observedGeneration: set.metadata.generation,
      roleStatuses: roles.map(({ wanted: _, ...role }) => role),
    },
    conditions: [
      facts(
        'Available',
        isAvailable,
        'AllRolesReady',
        roles.map((role) => `${role.name} ${role.readyReplicas}/${role.wanted}`).join(', '),
      ),
      facts('Progressing', !isAvailable, 'RolesProgressing', 'Roles are being made, updated or removed'),
    ],
  };
}

function facts(type: string, isTrue: boolean, reason: string, message: string): ConditionFacts {
  return { type, isTrue, reason, message };
}
