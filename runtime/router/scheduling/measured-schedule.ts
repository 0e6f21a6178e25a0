import type { AttemptContext } from './attempt-context';
import type { SchedulingRequest } from './attempts';
import type { Candidate, ScheduledRequest } from './candidate';
import type { Profile } from './profile';
import { type Scheduled, schedule } from './scheduler';

/** `schedule`, with the plugins of some decisions timed. */
export function measuredSchedule(
  { random, metrics }: Pick<AttemptContext, 'random' | 'metrics'>,
  request: SchedulingRequest,
  profile: Profile,
  scheduled: ScheduledRequest,
  candidates: readonly Candidate[],
): Scheduled {
  const timed = metrics?.timed(profile);
  const outcome = schedule(timed?.profile ?? profile, scheduled, candidates, random);
  if (timed !== undefined) metrics?.took(modelLabel(request), timed);
  return outcome;
}

/** The model as metrics name it. */
export function modelLabel({ model, adapter, upstreamModel }: SchedulingRequest): string {
  return model || adapter || upstreamModel;
}
