import { isPodReady, type Pod } from '../../../src/api/pod';
import type { Leadership } from '../../cluster/cluster';
import type { WriteOutcome } from '../../cluster/outcome';
import type { Scaling } from '../../cluster/scaling';
import type { Allocated, Write } from '../allocate';
import type { PodTraffic } from '../observe/pod-traffic';
import type { WakeWatch } from '../observe/wake-watch';
import type { PolicyUnit } from '../policy';
import { chooseVictims } from './choose-victims';
import type { Drain } from './drain';

/** Why a write did not happen. `ScaleConflict` and the like mend themselves: the next round reads the target again. */
export interface WriteFailure {
  readonly reason:
    | 'NotLeader'
    | 'Draining'
    | 'DrainFailed'
    | 'Waking'
    | 'WakeUnreadable'
    | 'ScaleConflict'
    | 'TargetMissing'
    | 'ScaleForbidden'
    | 'ScaleInvalid'
    | 'ScaleThrottled'
    | 'ScaleUnavailable';
  readonly message: string;
}

/** How the writes of a decision ended. */
export interface Applied {
  readonly written: readonly Write[];
  /** What stopped the rest. */
  readonly failure?: WriteFailure;
}

/**
 * Carries out a decision, target after target, and stops at the first one that cannot be written. Replicas of a target or role that routers
 * serve go when their pods are drained, and a role that grows does not wait for that of another. Such a target goes to
 * zero in two steps: its pods leave the routing, and a later round that finds it idle still scales it, when nobody waits for it just before.
 */
export async function apply(
  decision: Allocated,
  {
    leadership,
    scaling,
    wakes,
    drain,
    traffic,
  }: {
    readonly leadership: Leadership;
    readonly scaling: Scaling;
    readonly wakes: WakeWatch;
    readonly drain: Drain;
    readonly traffic: PodTraffic;
  },
): Promise<Applied> {
  const written: Write[] = [];
  if (decision.kind === 'unseen') return { written };
  if (leadership.held()) await drain.undo(podsThatStay(decision));
  for (const write of decision.writes) {
    if (!leadership.held()) return { written, failure: { reason: 'NotLeader', message: 'another process is the leader now' } };
    const objection = goesToZero(write)
      ? await objectionTo(write, decision, { wakes, drain })
      : await streamsOn(write, decision, { drain, traffic });
    const possible = objection === undefined ? write : growthOf(write);
    if (possible === undefined) return { written, failure: objection! };
    if (!leadership.held()) return { written, failure: { reason: 'NotLeader', message: 'another process is the leader now' } };
    const failure = failureOf(await send(possible, scaling), possible);
    if (failure !== undefined) return { written, failure };
    written.push(possible);
    if (objection !== undefined) return { written, failure: objection };
  }
  return { written };
}

type Decided = Extract<Allocated, { kind: 'decided' }>;

/** Pods of targets that lose no replica, or not any more. */
function podsThatStay({ decision, handles, writes }: Decided): readonly Pod[] {
  const isGoing = (i: number): boolean =>
    decision.units[i]!.desired < decision.units[i]!.current && writes.some(({ uid }) => uid === handles[i]!.uid);
  return handles.flatMap(({ pods }, i) => (isGoing(i) ? [] : pods));
}

/** The roles of a write that grow; undefined: none does. */
function growthOf(write: Write): Write | undefined {
  if (write.kind === 'scale') return undefined;
  const grown = Object.entries(write.to).filter(([role, to]) => to > write.from[role]!);
  return grown.length === 0 ? undefined : { ...write, to: Object.fromEntries(grown) };
}

/**
 * Drains the pods that go with a part of the replicas of a target that routers serve, and those that do not go after all it puts back.
 *
 * @returns why the replicas may not go yet: routers may still send requests there, or streams go on and have time left.
 */
async function streamsOn(
  write: Write,
  { policy, handles }: Decided,
  { drain, traffic }: { readonly drain: Drain; readonly traffic: PodTraffic },
): Promise<WriteFailure | undefined> {
  const going: { readonly unit: PolicyUnit; readonly pod: Pod }[] = [];
  for (const [i, unit] of policy.units.entries()) {
    const { uid, pods } = handles[i]!;
    const to = uid === write.uid ? fewerReplicas(write, unit) : undefined;
    if (to === undefined || !traffic.isRouted(unit)) continue;
    // Replicas that have no pod go first.
    const victims = await chooseVictims({ kind: write.target.kind, ...unit }, pods, to, (pod) => traffic.streams(unit, pod));
    if (victims === undefined) continue;
    await drain.undo(pods.filter((pod) => !victims.includes(pod)));
    going.push(...victims.filter(isPodReady).map((pod) => ({ unit, pod })));
  }
  if (going.length === 0) return undefined;
  const what = `${write.target.kind} ${write.target.namespace}/${write.target.name}`;
  const state = await drain.advance(going.map(({ pod }) => pod));
  if (state === 'under way') return { reason: 'Draining', message: `pods of ${what} leave the routing before they go` };
  if (state === 'failed')
    return { reason: 'DrainFailed', message: `pods of ${what} could not be marked as drained; they do not go` };
  for (const { unit, pod } of going) {
    if (drain.isOverdue(pod, traffic.timeoutMs) || (await traffic.streams(unit, pod)) === 0) continue;
    return { reason: 'Draining', message: `requests on pod ${pod.metadata.name} of ${what} end before it goes` };
  }
  return undefined;
}

/** Replicas that a unit is to have after a write that takes some of it away. */
function fewerReplicas(write: Write, { role }: PolicyUnit): number | undefined {
  const [from, to] = write.kind === 'scale' ? [write.from, write.to] : [write.from[role ?? ''], write.to[role ?? '']];
  return from !== undefined && to !== undefined && to < from ? to : undefined;
}

async function objectionTo(
  write: Write,
  { handles, rests }: Decided,
  { wakes, drain }: { readonly wakes: WakeWatch; readonly drain: Drain },
): Promise<WriteFailure | undefined> {
  const { target, uid } = write;
  const what = `${target.kind} ${target.namespace}/${target.name}`;
  const going = handles.flatMap(({ pods, uid: each }, i) => (each === uid && rests[i]?.wake === 'possible' ? pods : []));
  const state = await drain.advance(going);
  if (state === 'under way') return { reason: 'Draining', message: `pods of ${what} leave the routing before it goes to zero` };
  if (state === 'failed') {
    return { reason: 'DrainFailed', message: `pods of ${what} could not be marked as drained; it does not go to zero` };
  }
  const objection = await wakes.objection(target.namespace, uid);
  if (objection === undefined) return undefined;
  await drain.undo(going);
  return objection === 'wanted'
    ? { reason: 'Waking', message: `requests wait for ${what}; it does not go to zero` }
    : { reason: 'WakeUnreadable', message: `whether requests wait for ${what} cannot be read; it does not go to zero` };
}

function goesToZero({ to }: Write): boolean {
  return typeof to === 'number' ? to === 0 : Object.values(to).some((count) => count === 0);
}

function send(write: Write, scaling: Scaling): Promise<WriteOutcome> {
  return write.kind === 'scale'
    ? scaling.set(write.target, write.to, write.version)
    : scaling.setRoles(write.target, write.to, write.version);
}

function failureOf(outcome: WriteOutcome, { target }: Write): WriteFailure | undefined {
  const what = `scaling ${target.kind} ${target.namespace}/${target.name}`;
  switch (outcome.kind) {
    case 'applied':
    case 'unchanged':
      return undefined;
    case 'conflict':
      return { reason: 'ScaleConflict', message: `${what} met a change by somebody else; it is read again in the next round` };
    case 'gone':
      return { reason: 'TargetMissing', message: `${what} failed: it was deleted` };
    case 'forbidden':
      return { reason: 'ScaleForbidden', message: `${what} is forbidden: ${outcome.message}` };
    case 'invalid':
      return { reason: 'ScaleInvalid', message: `${what} was refused: ${outcome.message}` };
    case 'throttled':
      return { reason: 'ScaleThrottled', message: `${what} was throttled; it is tried again in the next round` };
    case 'unavailable':
      return { reason: 'ScaleUnavailable', message: `${what} failed: ${outcome.message}` };
  }
}
