import { DisaggregatedLabels, LeaderWorkerLabels, LeaderWorkerVariables } from '../../src/expand/leader-worker-workload';
import { KubeDisaggregatedSet } from '../kube/disaggregated-set';
import { controllerGangLimits, queueAnnotations } from './controller-gang';
import { leaderWorkerSetSpec, nameLimits } from './leader-worker-set';
import type { RoleEngine, RoleGroup, RoleSetSpec } from './role-engine';
import type { Limit, ServingGroupSpec } from './workload';

const FEWEST_ROLES = 2;
const MOST_ROLES = 10;
/**
 * The controller's LeaderWorkerSets are called `<set>-<slice>-<revision of 8>-<role>`, and a label of 63 characters holds that with
 * `-<group>-<revision of 10>`; two digits are left for the slice and four for the group.
 */
const LONGEST_NAME_AND_ROLE = 63 - 3 - 10 - 5 - 11;

/** Serving groups as roles of one DisaggregatedSet: its LeaderWorkerSets are rolled out in step. */
export const disaggregatedSetRoles: RoleEngine = {
  name: 'DisaggregatedSet',
  groupVariables: LeaderWorkerVariables,
  copyLabel: DisaggregatedLabels.slice,

  limits(set: RoleSetSpec): readonly Limit[] {
    const roles = set.roles();
    return [
      ...controllerGangLimits(set.gang, 2, 'without-topology'),
      ...roles.flatMap(({ role, group }) => roleLimits(set.name, role, group)),
      ...(roles.length < FEWEST_ROLES
        ? [{ what: `roles are ${roles.length}, fewer than ${FEWEST_ROLES}`, instead: 'LeaderWorkerSet' } as const]
        : []),
      ...(roles.length > MOST_ROLES ? [{ what: `roles are ${roles.length}`, instead: { remedy: `keep to ${MOST_ROLES}` } }] : []),
      ...zeroLimits(roles),
    ];
  },

  create: (scope, set) =>
    new KubeDisaggregatedSet(scope, 'Resource', {
      metadata: { name: set.name, labels: set.labels },
      spec: () => ({
        slices: set.copies,
        roles: set.roles().map(({ role, group }) => ({
          name: role,
          metadata: { labels: group.labels, ...queueAnnotations(set.gang) },
          scaling: { mode: group.replicas() === undefined ? ('External' as const) : ('Static' as const) },
          spec: leaderWorkerSetSpec(group),
        })),
      }),
    }),

  workloadOf(resource, set, role) {
    const podSelector = { [DisaggregatedLabels.name]: set.name, [DisaggregatedLabels.role]: role };
    return {
      resource,
      scaleTarget: { ...KubeDisaggregatedSet.SCALER, name: `${set.name}-${role}` },
      podSelector,
      servingSelector: { ...podSelector, [LeaderWorkerLabels.workerIndex]: '0' },
      makesService: false,
      disruption: { maxUnavailable: 1 },
    };
  },
};

function roleLimits(set: string, role: string, { rollout }: ServingGroupSpec): readonly Limit[] {
  return [
    ...nameLimits(`${set}${role}`, LONGEST_NAME_AND_ROLE).map(({ instead }) => ({
      what: `name is ${set.length} characters long, and ${role} ${role.length}`,
      instead,
    })),
    ...(rollout.partition > 0
      ? [{ what: `rollout.partition is ${rollout.partition}`, instead: 'LeaderWorkerSet' } as const]
      : []),
  ];
}

/** The kind refuses some roles at zero and others not. */
function zeroLimits(roles: readonly RoleGroup[]): readonly Limit[] {
  const written = roles.flatMap(({ role, group }) => {
    const replicas = group.replicas();
    return replicas === undefined ? [] : [{ role, replicas }];
  });
  const zero = written.find(({ replicas }) => replicas === 0);
  if (zero === undefined || written.every(({ replicas }) => replicas === 0)) return [];
  return [{ what: `replicas is 0 for ${zero.role} alone`, instead: { remedy: 'give all roles replicas, or none' } }];
}
