import type { Pod } from '../api/pod';
import { disaggregatedPosition, disaggregatedRevision, leaderWorkerSetOf, slicesOf } from './expand-disaggregated-set';
import { leaderWorkerChanges } from './leader-worker-changes';
import {
  type DisaggregatedRole,
  type DisaggregatedSet,
  DisaggregatedLabels as Labels,
  LeaderWorkerLabels,
} from './leader-worker-workload';
import { isUnitReady, type PodUnit, unitsBy } from './victims';
import { countOf, type PodChanges } from './workload-plan';

/**
 * One sync of the DisaggregatedSet controller: each slice by itself. A new revision grows in step over all roles, no role further ahead
 * than the slowest one's share and one step, and the old ones shrink as it becomes ready, within each role's surge and unavailability.
 */
export function disaggregatedChanges(set: DisaggregatedSet, pods: readonly Pod[]): PodChanges {
  const bySlice = new Map<number, Pod[]>();
  for (const pod of pods) {
    const slice = disaggregatedPosition(pod)?.slice;
    if (slice !== undefined) bySlice.set(slice, [...(bySlice.get(slice) ?? []), pod]);
  }
  const slices = Array.from({ length: slicesOf(set) }, (_, slice) => sliceChanges(set, slice, bySlice.get(slice) ?? []));
  const surplus = [...bySlice].filter(([slice]) => slice >= slicesOf(set)).flatMap(([, members]) => members.filter(isStaying));
  return {
    create: slices.flatMap(({ create }) => create),
    remove: [...slices.flatMap(({ remove }) => remove), ...surplus],
  };
}

/** One role of a slice in both revisions. */
interface RoleState {
  readonly role: DisaggregatedRole;
  readonly wanted: number;
  readonly step: number;
  readonly surge: number;
  readonly unavailable: number;
  readonly current: readonly Pod[];
  readonly readyCurrent: number;
  readonly old: readonly PodUnit[];
}

function sliceChanges(set: DisaggregatedSet, slice: number, pods: readonly Pod[]): PodChanges {
  const states = set.spec.roles.map((role) => roleState(set, role, pods));
  const share = Math.min(1, ...states.map(({ wanted, readyCurrent }) => (wanted === 0 ? 1 : readyCurrent / wanted)));
  const known = new Set(set.spec.roles.map(({ name }) => name));
  const foreign = pods.filter((pod) => isStaying(pod) && !known.has(disaggregatedPosition(pod)?.role ?? ''));
  const changes = states.map((state) => roleChanges(set, slice, state, share));
  return {
    create: changes.flatMap(({ create }) => create),
    remove: [...changes.flatMap(({ remove }) => remove), ...foreign],
  };
}

function roleState(set: DisaggregatedSet, role: DisaggregatedRole, pods: readonly Pod[]): RoleState {
  const revision = disaggregatedRevision(set);
  const own = pods.filter((pod) => disaggregatedPosition(pod)?.role === role.name);
  const current = own.filter(({ metadata }) => metadata.labels?.[Labels.revision] === revision);
  const wanted = role.spec.replicas ?? 1;
  const { maxSurge = 0, maxUnavailable = 1 } = role.spec.rolloutStrategy?.rollingUpdateConfiguration ?? {};
  const surge = countOf(maxSurge, wanted, Math.ceil);
  const unavailable =
    surge === 0 ? Math.max(1, countOf(maxUnavailable, wanted, Math.floor)) : countOf(maxUnavailable, wanted, Math.floor);
  return {
    role,
    wanted,
    step: Math.max(surge, unavailable),
    surge,
    unavailable,
    current,
    readyCurrent: groupsOf(current).filter(isUnitReady).length,
    old: groupsOf(own.filter((pod) => !current.includes(pod))),
  };
}

function roleChanges(set: DisaggregatedSet, slice: number, state: RoleState, share: number): PodChanges {
  const { role, wanted, step, surge, unavailable, current, readyCurrent, old } = state;
  const inStep = old.length === 0 ? wanted : Math.min(wanted, Math.floor(wanted * share) + step);
  const replicas = Math.min(inStep, Math.max(0, wanted + surge - old.length));
  const member = leaderWorkerSetOf(set, slice, { ...role, spec: { ...role.spec, replicas } });
  const { create, remove } = leaderWorkerChanges(member, current);
  const staying = old.filter(({ pods }) => pods.every(isStaying));
  const spare = readyCurrent + staying.filter(isUnitReady).length - (wanted - unavailable);
  // Old replicas make room for what is in step, no more: other roles may lag behind.
  const surplus = Math.max(0, staying.length + inStep - (wanted + surge));
  const idle = staying.filter((group) => !isUnitReady(group));
  const serving = staying.filter(isUnitReady).toReversed();
  const going = [...idle, ...serving.slice(0, Math.max(0, spare))].slice(0, surplus);
  return { create, remove: [...remove, ...going.flatMap(({ pods }) => pods)] };
}

/** Groups of all revisions of a role, by their leaders. */
function groupsOf(pods: readonly Pod[]): readonly PodUnit[] {
  const keys = [...new Set(pods.map(groupKey))];
  return unitsBy(pods, (pod) => keys.indexOf(groupKey(pod)));
}

function groupKey({ metadata }: Pod): string {
  return metadata.labels?.[LeaderWorkerLabels.groupKey] ?? metadata.name;
}

function isStaying({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp === undefined;
}
