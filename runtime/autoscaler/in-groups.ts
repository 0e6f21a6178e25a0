import type { TargetRef } from '../cluster/scaling';
import type { Bounds } from './decide/rules';
import type { Policy, UnusablePolicy } from './policy';
import type { ReadPolicies } from './read-policies';

/**
 * Policies whose bounds of roles are totals, with the bounds that each serving group has then: replicas of a role are written once, for every
 * group. A group has no fewer than its share of the minimum and no more than its share of the maximum. Pure.
 *
 * @param groupsOf serving groups of a target.
 */
export function inGroups({ policies, unusable }: ReadPolicies, groupsOf: (target: TargetRef) => number): ReadPolicies {
  const read = policies.map((policy) => inGroupsOf(policy, groupsOf));
  return {
    policies: read.flatMap((policy) => ('spec' in policy ? [policy] : [])),
    unusable: [...unusable, ...read.flatMap((policy) => ('spec' in policy ? [] : [policy]))],
  };
}

function inGroupsOf(policy: Policy, groupsOf: (target: TargetRef) => number): Policy | UnusablePolicy {
  const { hasTotals, units, spec } = policy;
  const [unit] = units;
  if (!hasTotals || unit === undefined || spec.target.kind !== 'disaggregated') return policy;
  const groups = Math.max(1, groupsOf(unit.target));
  if (groups === 1) return policy;
  const narrow = spec.target.roles.find(({ max }) => max < groups);
  if (narrow !== undefined) {
    const { id, object, name } = policy;
    const message = `maxReplicas of role ${narrow.name} is ${narrow.max}, fewer than the ${groups} serving groups of ${unit.target.kind} ${unit.target.namespace}/${unit.target.name}; raise it, or say per: group where it is meant for each group`;
    return { id, object, name, reason: 'TargetInvalid', message };
  }
  const roles = spec.target.roles.map((role) => ({ ...role, ...boundsInGroup(role, groups) }));
  return {
    ...policy,
    spec: { ...spec, target: { ...spec.target, roles } },
    units: units.map((each) => ({ ...each, groups })),
  };
}

/** The maximum wins where no whole number of replicas in each group keeps both. */
function boundsInGroup({ min, max }: Bounds, groups: number): Bounds {
  const most = Math.floor(max / groups);
  return { min: Math.min(most, Math.ceil(min / groups)), max: most };
}
