import type { Pod } from '../../../src/api/pod';
import type { Leadership } from '../../cluster/cluster';
import type { WriteOutcome } from '../../cluster/outcome';
import type { Scaling } from '../../cluster/scaling';
import type { Allocated, Write } from '../allocate';
import type { WakeWatch } from '../observe/wake-watch';
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
 * Carries out a decision, target after target, and stops at the first one that cannot be written. A target that a router serves goes to
 * zero in two steps: its pods leave the routing, and a later round that finds it idle still scales it, when nobody waits for it just before.
 */
export async function apply(
  decision: Allocated,
  {
    leadership,
    scaling,
    wakes,
    drain,
  }: {
    readonly leadership: Leadership;
    readonly scaling: Scaling;
    readonly wakes: WakeWatch;
    readonly drain: Drain;
  },
): Promise<Applied> {
  const written: Write[] = [];
  if (decision.kind === 'unseen') return { written };
  if (leadership.held()) await drain.undo(podsThatStay(decision));
  for (const write of decision.writes) {
    if (!leadership.held()) return { written, failure: { reason: 'NotLeader', message: 'another process is the leader now' } };
    const objection = goesToZero(write) ? await objectionTo(write, decision, { wakes, drain }) : undefined;
    if (objection !== undefined) return { written, failure: objection };
    if (!leadership.held()) return { written, failure: { reason: 'NotLeader', message: 'another process is the leader now' } };
    const failure = failureOf(await send(write, scaling), write);
    if (failure !== undefined) return { written, failure };
    written.push(write);
  }
  return { written };
}

type Decided = Extract<Allocated, { kind: 'decided' }>;

/** Pods of targets that are not on their way to zero, or not any more. */
function podsThatStay({ decision, handles, writes }: Decided): readonly Pod[] {
  const isGoing = (i: number): boolean => decision.units[i]!.desired === 0 && writes.some(({ uid }) => uid === handles[i]!.uid);
  return handles.flatMap(({ pods }, i) => (isGoing(i) ? [] : pods));
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
