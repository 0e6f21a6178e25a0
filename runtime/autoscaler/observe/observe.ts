import { selects } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import { Labels } from '../../../src/labels';
import type { Objects } from '../../cluster/objects';
import type { Scaling } from '../../cluster/scaling';
import type { MetricReading, Observation, Rest, UnitObservation } from '../decide/observation';
import type { MetricQuery, Policy, PolicyUnit } from '../policy';
import type { PoolRate } from './capacity-book';
import { kthenaReading } from './kthena-reading';
import { poolCapacity } from './pool-capacity';
import { queryPrometheus } from './prometheus-query';
import type { AskedPod, Reading } from './reading';
import { replicaReading } from './replica-reading';
import { busyOf, wakeOf } from './rest';
import type { RoundView } from './round-view';
import { readRouterSignal } from './router-signals';
import { SCHEDULE_METRIC, scheduledReplicas } from './scheduled-replicas';
import type { TargetHandle } from './target-handle';
import { isRollingOut, podState, replicaOf, targetPods } from './target-pods';
import { withCapacity } from './with-capacity';

/** Why a policy's target could not be read. */
export interface Problem {
  readonly reason: 'TargetMissing' | 'TargetForbidden' | 'TargetUnreadable' | 'RoleMissing';
  readonly message: string;
}

export type Observed =
  | {
      readonly kind: 'seen';
      readonly policy: Policy;
      readonly observation: Observation;
      readonly handles: readonly TargetHandle[];
      /** What was learned of the engines of each unit. */
      readonly learned?: readonly (PoolRate['learned'] | undefined)[];
    }
  | { readonly kind: 'unseen'; readonly policy: Policy; readonly problem: Problem };

/** Reads a policy's targets and every metric of them. */
export async function observe(policy: Policy, view: RoundView): Promise<Observed> {
  const read = await Promise.all(policy.units.map((unit) => observeUnit(policy, unit, view)));
  const problem = read.find((unit) => 'reason' in unit);
  if (problem !== undefined && 'reason' in problem) return { kind: 'unseen', policy, problem };
  const units = read.flatMap((unit) => ('reason' in unit ? [] : [unit]));
  const handles = units.map(({ handle }) => handle);
  const { seen, learned } = await withCapacity(
    policy,
    withSchedules(
      policy,
      units.map((unit) => unit.seen),
      view.nowMs,
    ),
    handles,
    view,
  );
  return {
    kind: 'seen',
    policy,
    observation: { atMs: view.atMs, isViewStale: view.isViewStale, units: seen },
    handles,
    ...(learned && { learned }),
  };
}

/** What is to be done for a policy whose target requests may wait for. */
export type Called =
  /** It has no replicas. */
  | Extract<Observed, { kind: 'seen' }>
  /** It has replicas, of which some may have been taken out of routing. */
  | { readonly kind: 'up'; readonly pods: readonly Pod[] };

/**
 * Looks whether requests wait for a policy's target, and reads no metric for that.
 *
 * @returns undefined when none do, or the target cannot be read.
 */
export async function observeCalled(
  policy: Policy,
  view: Pick<RoundView, 'atMs' | 'objects' | 'scaling' | 'workloadPods' | 'wakes'>,
): Promise<Called | undefined> {
  const scales = await Promise.all(policy.units.map((unit) => readUnit(unit, view)));
  const units = scales.flatMap((scale, i): ReadUnit[] => {
    if ('reason' in scale) return [];
    const unit = policy.units[i]!;
    const { current, selector, ...handle } = scale;
    const rest = { wake: wakeOf(unit, handle.uid, view) };
    const pods = targetPods(view.objects, unit, selector);
    const capacity = capacityOf(policy, unit, view);
    const seen = { name: unit.name, current, metrics: [], unreadyPods: 0, ...(capacity !== undefined && { capacity }), rest };
    return [{ seen, handle: { ...handle, pods, isRollingOut: isRollingOut(pods) } }];
  });
  if (units.length < policy.units.length || !units.some(({ seen }) => seen.rest?.wake === 'wanted')) return undefined;
  if (units.some(({ seen }) => seen.current > 0)) return { kind: 'up', pods: units.flatMap(({ handle }) => handle.pods) };
  return {
    kind: 'seen',
    policy,
    observation: { atMs: view.atMs, isViewStale: false, units: units.map(({ seen }) => seen) },
    handles: units.map(({ handle }) => handle),
  };
}

/** What schedules want is one more metric: of the target, of all pools together, or of each role. */
function withSchedules(
  { schedules, spec, units: named }: Policy,
  units: readonly UnitObservation[],
  nowMs: number,
): readonly UnitObservation[] {
  if (schedules.length === 0) return units;
  const scheduled = { kind: 'external', value: scheduledReplicas(schedules, nowMs) } as const;
  return units.map((unit, i) => {
    if (i > 0 && spec.target.kind === 'heterogeneous') return unit;
    const metric = { name: SCHEDULE_METRIC, targetValue: 1, reading: shared(scheduled, named[i]!) };
    return { ...unit, metrics: [...unit.metrics, metric] };
  });
}

/** What is one number for the whole target is the load of all its groups. */
function shared(reading: MetricReading, { groups = 1 }: PolicyUnit): MetricReading {
  return reading.kind === 'external' ? { ...reading, value: reading.value / groups } : reading;
}

interface ReadUnit {
  readonly seen: UnitObservation;
  readonly handle: TargetHandle;
}

interface ScaleView extends Omit<TargetHandle, 'pods' | 'isRollingOut'> {
  readonly current: number;
  readonly selector: Readonly<Record<string, string>>;
}

async function observeUnit(policy: Policy, unit: PolicyUnit, view: RoundView): Promise<ReadUnit | Problem> {
  const scale = await readUnit(unit, view);
  if ('reason' in scale) return scale;
  const { current, selector, ...handle } = scale;
  const reading = policy.spec.algorithm.name === 'kthena' ? kthenaReading : replicaReading;
  const pods = targetPods(view.objects, unit, selector);
  const metrics = await Promise.all(
    unit.queries.map(async (query) => ({
      name: query.name,
      targetValue: query.targetValue,
      reading: shared(await readMetric(query, pods, unit, reading, view), unit),
    })),
  );
  const unreadyPods = reading.countUnready(pods.map((pod) => ({ pod, replica: replicaOf(pod, unit.role) })));
  const rest = policy.mayRest ? await readRest(unit, { current, uid: handle.uid, pods }, view) : undefined;
  const starts = view.starts.observe(policy.id, unit, pods, current, view.atMs);
  const seen = { name: unit.name, current, metrics, unreadyPods, ...starts, ...(rest && { rest }) };
  return { seen, handle: { ...handle, pods, isRollingOut: isRollingOut(pods) } };
}

function capacityOf(policy: Policy, unit: PolicyUnit, view: Pick<RoundView, 'objects' | 'workloadPods'>): number | undefined {
  const isCompared = policy.spec.target.kind === 'heterogeneous' && policy.spec.algorithm.name === 'default';
  return isCompared ? poolCapacity(unit.target, view) : undefined;
}

async function readRest(
  unit: PolicyUnit,
  { current, uid, pods }: { readonly current: number; readonly uid: string; readonly pods: readonly Pod[] },
  view: RoundView,
): Promise<Rest> {
  const wake = wakeOf(unit, uid, view);
  const busy = current > 0 && wake === 'possible' ? await busyOf(unit, pods, view) : undefined;
  return { wake, ...(busy !== undefined && { busy }) };
}

async function readUnit(unit: PolicyUnit, view: Pick<RoundView, 'scaling' | 'objects'>): Promise<ScaleView | Problem> {
  return unit.role === undefined ? readScale(unit, view.scaling) : readRole(unit, unit.role, view.objects);
}

async function readMetric(
  { source }: MetricQuery,
  pods: readonly Pod[],
  unit: PolicyUnit,
  reading: Reading,
  view: RoundView,
): Promise<MetricReading> {
  switch (source.kind) {
    case 'none':
      return { kind: 'missing', reason: 'metricSources does not say where it is read' };
    case 'router':
      return readRouterSignal(source.signal, unit, pods, view);
    case 'prometheus':
      return queryPrometheus(source.prometheus, view.http, view.prometheus);
    case 'pod': {
      const { port, uri, labelSelector } = source.pod;
      const chosen = labelSelector === undefined ? pods : pods.filter((pod) => selects(labelSelector, pod.metadata.labels));
      const asked = await Promise.all(
        chosen.map(async (pod): Promise<AskedPod> => {
          const replica = replicaOf(pod, unit.role);
          return podState(pod) === 'ready' ? { pod, replica, page: await view.pages.read(pod, port, uri) } : { pod, replica };
        }),
      );
      return reading.read(asked, { family: source.family, percentile: view.percentile, isPerGroup: unit.role !== undefined });
    }
  }
}

async function readScale({ target }: PolicyUnit, scaling: Scaling): Promise<ScaleView | Problem> {
  const outcome = await scaling.read(target);
  const what = `${target.kind} ${target.namespace}/${target.name}`;
  switch (outcome.kind) {
    case 'found': {
      const { uid, version, desired, selector } = outcome.value;
      return { uid, version, current: desired, selector };
    }
    case 'gone':
      return { reason: 'TargetMissing', message: `${what} does not exist; create it or correct targetRef` };
    case 'forbidden':
      return { reason: 'TargetForbidden', message: `reading the scale of ${what} is forbidden: ${outcome.message}` };
    case 'throttled':
      return { reason: 'TargetUnreadable', message: `reading the scale of ${what} was throttled` };
    case 'invalid':
    case 'unavailable':
      return { reason: 'TargetUnreadable', message: `the scale of ${what} could not be read: ${outcome.message}` };
  }
}

/** Replicas of a role are read where they are written: in the ModelServing, with its version. */
function readRole({ target }: PolicyUnit, role: string, objects: Objects): ScaleView | Problem {
  const serving = objects.get('ModelServing', target.namespace, target.name);
  const what = `${target.kind} ${target.namespace}/${target.name}`;
  if (serving === undefined) {
    return { reason: 'TargetMissing', message: `${what} does not exist; create it or correct targetRef` };
  }
  const found = serving.spec.template.roles.find(({ name }) => name === role);
  if (found === undefined) return { reason: 'RoleMissing', message: `${what} has no role ${role}; correct the name of the role` };
  return {
    uid: serving.metadata.uid ?? '',
    version: serving.metadata.resourceVersion ?? '',
    current: found.replicas ?? 1,
    selector: { [Labels.modelServingName]: serving.metadata.name },
  };
}
