import type { ModelServingManifest } from '../../src/api/model-serving';
import { Labels } from '../../src/labels';
import { KubeModelServing } from '../kube/model-serving';
import { controllerGangLimits, queueAnnotations } from './controller-gang';
import {
  MODEL_SERVING_VARIABLES,
  recoveryLimits,
  servingRole,
  servingScheduler,
  servingTopology,
  surgeLimits,
} from './model-serving';
import type { RoleEngine, RoleGroup, RoleSetSpec } from './role-engine';
import type { Limit } from './workload';

/** The kind takes four roles. */
const MOST_ROLES = 4;

/** Serving groups as the roles of one ModelServing of Kthena; each copy of all roles is a serving group of that kind. */
export const modelServingRoles: RoleEngine = {
  name: 'ModelServing',
  groupVariables: MODEL_SERVING_VARIABLES,
  copyLabel: Labels.modelServingGroup,

  limits(set: RoleSetSpec): readonly Limit[] {
    const roles = set.roles();
    return [
      ...controllerGangLimits(set.gang, 2, 'with-topology'),
      ...roles.flatMap(({ group }) => [...surgeLimits(group), ...recoveryLimits(group, 'DisaggregatedSet')]),
      ...roles.flatMap(zeroLimits),
      ...(roles.length === 0 ? [{ what: 'roles are 0', instead: { remedy: 'have a serving group join' } }] : []),
      ...(roles.length > MOST_ROLES ? [{ what: `roles are ${roles.length}`, instead: 'DisaggregatedSet' } as const] : []),
    ];
  },

  create: (scope, set) =>
    new KubeModelServing(scope, 'Resource', {
      metadata: { name: set.name, labels: set.labels, ...queueAnnotations(set.gang) },
      spec: () => specOf(set),
    }),

  workloadOf: (resource, set, _role, group) => ({
    resource,
    scaleTarget: { ...KubeModelServing.GVK, name: set.name },
    podSelector: { app: group.name },
    servingSelector: { app: group.name, [Labels.modelServingEntry]: 'true' },
    makesService: false,
    // A budget's maxUnavailable counts in the units of the owner's /scale, which are copies of all roles and not pods.
    disruption: { minAvailable: Math.max(0, group.minReplicas * set.copies - 1) * group.podsPerReplica },
  }),
};

/** Kthena's admission wants one replica of a role that may be unavailable, and so one at least. */
function zeroLimits({ role, group }: RoleGroup): readonly Limit[] {
  if (group.minReplicas > 0) return [];
  return [{ what: `replicas may be 0 for ${role}`, instead: 'DisaggregatedSet' }];
}

function specOf(set: RoleSetSpec): ModelServingManifest['spec'] {
  const roles = set.roles();
  return {
    replicas: set.copies,
    schedulerName: servingScheduler(set.gang),
    recoveryPolicy: 'RoleRecreate',
    // Replaces replica by replica in each role; whole copies at once would leave a single copy with nobody to serve.
    rolloutStrategy: { type: 'RoleRollingUpdate' },
    template: {
      ...(set.gang === undefined
        ? {}
        : { gangPolicy: { minRoleReplicas: Object.fromEntries(roles.map(({ role, group }) => [role, group.minReplicas])) } }),
      ...servingTopology(set.gang),
      roles: roles.map(({ role, group }) => {
        const replicas = group.replicas();
        const { maxUnavailable, partition } = group.rollout;
        return {
          ...servingRole(role, group),
          ...(replicas === undefined ? {} : { replicas }),
          maxUnavailable: Math.max(1, maxUnavailable),
          ...(partition === 0 ? {} : { partition }),
        };
      }),
    },
  };
}
