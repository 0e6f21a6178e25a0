import type { ModelServing, ServingRole } from '../api/model-serving';
import type { Pod } from '../api/pod';
import { Labels } from '../labels';
import {
  instancePods,
  ROLE_TEMPLATE_HASH,
  roleTemplateHash,
  servingGroupPods,
  servingPosition,
  servingRevision,
} from './expand-model-serving';
import { isUnitReady, type PodUnit, servingOrder, unitsBy, victims } from './victims';
import { countOf, type PodChanges } from './workload-plan';

/**
 * One sync of Kthena's controller: serving groups, then roles inside each, then the rolling update. A group or instance that is being
 * deleted keeps its ordinal until its last pod is gone, and its missing pods are made only afterwards.
 */
export function servingChanges(serving: ModelServing, pods: readonly Pod[]): PodChanges {
  const replicas = serving.spec.replicas ?? 1;
  const groups = unitsBy(pods, (pod) => servingPosition(serving, pod)?.group);
  const known = new Set(groups.map(({ ordinal }) => ordinal));
  const create: Pod[] = [];
  for (let group = 0; known.size < replicas && group < replicas; group++) {
    if (known.has(group)) continue;
    known.add(group);
    create.push(...servingGroupPods(serving, group).map(({ pod }) => pod));
  }
  const leaving = groups.filter(isLeaving);
  const surplus = Math.max(0, groups.length - leaving.length - replicas);
  const remove = new Set(
    victims(
      serving,
      groups.filter((group) => !isLeaving(group)).flatMap((group) => group.pods),
      surplus,
    ),
  );

  for (const group of groups) {
    if (isLeaving(group) || group.pods.some((pod) => remove.has(pod))) continue;
    const changes = groupChanges(serving, group);
    create.push(...changes.create);
    for (const pod of changes.remove) remove.add(pod);
  }
  const updated =
    serving.spec.rolloutStrategy?.type === 'RoleRollingUpdate'
      ? outdatedInstances(serving, groups)
      : outdatedGroups(serving, groups);
  for (const pod of updated) remove.add(pod);
  return { create, remove: [...remove].filter((pod) => pod.metadata.deletionTimestamp === undefined) };
}

/** A group leaves when all that is left of it is being deleted. */
function isLeaving({ pods }: PodUnit): boolean {
  return pods.every(({ metadata }) => metadata.deletionTimestamp !== undefined);
}

/** Role instances that a group lacks or has too many of. */
function groupChanges(serving: ModelServing, group: PodUnit): PodChanges {
  const create: Pod[] = [];
  const remove: Pod[] = [];
  const roles = new Map(serving.spec.template.roles.map((role) => [role.name, role]));
  for (const role of roles.values()) {
    const instances = instancesOf(serving, group.pods, role.name);
    const staying = instances.filter((instance) => !isLeaving(instance));
    const replicas = role.replicas ?? 1;
    const surplus = staying.toSorted(servingOrder).slice(0, Math.max(0, staying.length - replicas));
    remove.push(...surplus.flatMap((instance) => instance.pods));
    for (const instance of staying) {
      if (!surplus.includes(instance)) create.push(...missingPods(serving, role, group.ordinal, instance));
    }
    const known = new Set(instances.map(({ ordinal }) => ordinal));
    for (let ordinal = 0; known.size < replicas && ordinal < replicas; ordinal++) {
      if (known.has(ordinal)) continue;
      known.add(ordinal);
      create.push(...instancePods(serving, role, group.ordinal, ordinal).map(({ pod }) => pod));
    }
  }
  remove.push(...group.pods.filter((pod) => !roles.has(servingPosition(serving, pod)?.role ?? '')));
  return { create, remove };
}

function instancesOf(serving: ModelServing, pods: readonly Pod[], role: string): readonly PodUnit[] {
  return unitsBy(pods, (pod) => {
    const position = servingPosition(serving, pod);
    return position?.role === role ? position.instance : undefined;
  });
}

function missingPods(serving: ModelServing, role: ServingRole, group: number, instance: PodUnit): readonly Pod[] {
  const names = new Set(instance.pods.map(({ metadata }) => metadata.name));
  return instancePods(serving, role, group, instance.ordinal)
    .map(({ pod }) => pod)
    .filter(({ metadata }) => !names.has(metadata.name));
}

/** Groups of an old revision that may go now: at most `maxUnavailable` groups of those above the partition are away at once. */
function outdatedGroups(serving: ModelServing, groups: readonly PodUnit[]): readonly Pod[] {
  const replicas = serving.spec.replicas ?? 1;
  const config = serving.spec.rolloutStrategy?.rollingUpdateConfiguration;
  const revision = servingRevision(serving);
  const tail = groups.slice(countOf(config?.partition ?? 0, replicas, Math.ceil));
  const isOld = ({ pods }: PodUnit) => pods.some((pod) => pod.metadata.labels?.[Labels.modelServingRevision] !== revision);
  const newUnavailable = tail.filter((group) => !isOld(group) && !isUnitReady(group)).length;
  const budget = groups.length - (replicas - countOf(config?.maxUnavailable ?? 1, replicas, Math.floor)) - newUnavailable;
  const leaving = groups.filter(isLeaving).length;
  return stale(tail.filter(isOld), budget - leaving);
}

/** Instances of a role with an old template, within the role's own limits. */
function outdatedInstances(serving: ModelServing, groups: readonly PodUnit[]): readonly Pod[] {
  return groups.flatMap((group) =>
    serving.spec.template.roles.flatMap((role) => {
      const replicas = role.replicas ?? 1;
      const hash = roleTemplateHash(role);
      const instances = instancesOf(serving, group.pods, role.name);
      const isOld = ({ pods }: PodUnit) => pods.some((pod) => pod.metadata.labels?.[ROLE_TEMPLATE_HASH] !== hash);
      const unavailable = instances.filter(
        (instance) => isLeaving(instance) || (!isOld(instance) && !isUnitReady(instance)),
      ).length;
      const minimum = Math.max(0, replicas - countOf(role.maxUnavailable ?? 1, replicas, Math.floor));
      const tail = instances.slice(countOf(role.partition ?? 0, replicas, Math.ceil));
      return stale(tail.filter(isOld), Math.max(0, instances.length - minimum - unavailable));
    }),
  );
}

/** Not running ones first, then the highest ordinals. */
function stale(units: readonly PodUnit[], budget: number): readonly Pod[] {
  return units
    .filter((unit) => !isLeaving(unit))
    .toSorted((a, b) => Number(isUnitReady(a)) - Number(isUnitReady(b)) || b.ordinal - a.ordinal)
    .slice(0, Math.max(0, budget))
    .flatMap((unit) => unit.pods);
}
