import type { Leadership } from '../../cluster/cluster';
import type { WriteOutcome } from '../../cluster/outcome';
import type { Scaling } from '../../cluster/scaling';
import type { Allocated, Write } from '../allocate';

/** Why a write did not happen. `ScaleConflict` and the like mend themselves: the next round reads the target again. */
export interface WriteFailure {
  readonly reason:
    | 'NotLeader'
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

/** Carries out a decision, target after target, and stops at the first one that cannot be written. */
export async function apply(
  decision: Allocated,
  { leadership, scaling }: { readonly leadership: Leadership; readonly scaling: Scaling },
): Promise<Applied> {
  const written: Write[] = [];
  if (decision.kind === 'unseen') return { written };
  for (const write of decision.writes) {
    if (!leadership.held()) return { written, failure: { reason: 'NotLeader', message: 'another process is the leader now' } };
    const failure = failureOf(await send(write, scaling), write);
    if (failure !== undefined) return { written, failure };
    written.push(write);
  }
  return { written };
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
