import type { Condition } from '../../../src/api/meta';
import type { Allocated } from '../allocate';
import type { Applied, WriteFailure } from '../apply/apply';
import type { Limit } from '../decide/behavior';
import type { UnitDecision } from '../decide/decision';
import type { UnusablePolicy } from '../policy';

/** A condition before it is known since when it holds. */
export type Claim = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** What the next round mends, or goes on with. */
const PASSING: ReadonlySet<string> = new Set(['ScaleConflict', 'Draining', 'Waking'] satisfies WriteFailure['reason'][]);

/**
 * What a policy's conditions say after a round. Pure. Messages hold no live figures, so that they change only when something changes; a
 * conflict is no condition, since the next round mends it.
 */
export function conditionsOf(allocated: Allocated, applied: Applied): readonly Claim[] {
  const { policy } = allocated;
  if (allocated.kind === 'unseen') {
    const { reason, message } = allocated.problem;
    const isLost = reason === 'TargetMissing' || reason === 'RoleMissing';
    return [
      claim('Ready', false, reason, message),
      isLost
        ? claim('TargetFound', false, 'TargetInvalid', message)
        : { ...claim('TargetFound', false, reason, message), status: 'Unknown' },
    ];
  }
  const { decision, hold } = allocated;
  const sleep = sleepOf(allocated);
  const missing =
    sleep !== undefined
      ? []
      : decision.units.flatMap((unit) => unit.verdicts.filter((verdict) => verdict.replicas === undefined));
  const limits = decision.units.flatMap((unit) => unit.limits);
  // What a person can mend comes before what follows from it.
  const limit = limits.findLast(({ rule }) => rule === 'back-off') ?? limits.at(-1);
  const none = sleep !== undefined ? undefined : decision.units.find((unit) => unit.recommended === undefined);
  const lasting = applied.failure !== undefined && PASSING.has(applied.failure.reason) ? undefined : applied.failure;
  const failure = hold ?? lasting ?? (none && { reason: 'MetricMissing', message: withoutMetric(none) });
  return [
    failure === undefined
      ? claim('Ready', true, ...(sleep ?? (['Reconciled', ''] as const)))
      : claim('Ready', false, failure.reason, failure.message),
    claim('TargetFound', true, 'TargetFound', ''),
    missing.length > 0
      ? claim('MetricMissing', true, 'MetricMissing', missing.map(({ name, missing: why }) => `${name}: ${why}`).join('; '))
      : claim('MetricMissing', false, 'MetricsRead', ''),
    limit === undefined ? claim('Limited', false, 'NotLimited', '') : claim('Limited', true, ...limitedBy(limit)),
    claim('TargetConflict', hold?.reason === 'TargetConflict', ...reasonOf(hold, 'TargetConflict', 'OnlyPolicy')),
    claim('ForeignController', hold?.reason === 'ForeignController', ...reasonOf(hold, 'ForeignController', 'NoOtherController')),
    ...(policy.spec.target.kind === 'disaggregated' && policy.spec.target.ratio !== undefined
      ? [ratioClaim(decision.isRatioViolated, limits)]
      : []),
  ];
}

/** Whether the target has no replicas and nobody waits for it, or somebody waits; then its metrics are not missed. */
function sleepOf({ policy, decision, rests }: Extract<Allocated, { kind: 'decided' }>): readonly [string, string] | undefined {
  if (!policy.mayRest) return undefined;
  if (rests.some((rest) => rest?.wake === 'wanted')) {
    const isUp = decision.units.every(({ verdicts }) => verdicts.some(({ replicas }) => replicas !== undefined));
    return isUp ? undefined : ['Waking', 'requests wait for its pods'];
  }
  if (decision.units.some(({ current, desired }) => current > 0 || desired > 0)) return undefined;
  return rests.some((rest) => rest?.wake === 'possible')
    ? ['Asleep', 'it has no replicas; the first request for its model wakes it']
    : undefined;
}

/** What the conditions of a policy say that cannot be acted on as it is written. */
export function conditionsOfUnusable({ reason, message }: UnusablePolicy): readonly Claim[] {
  return [claim('Ready', false, reason, message), claim('TargetFound', false, 'TargetInvalid', message)];
}

/** `claims` as conditions: one that held before keeps the time at which it began. */
export function toConditions(
  claims: readonly Claim[],
  before: readonly Condition[],
  now: string,
  generation: number | undefined,
): readonly Condition[] {
  return claims.map((wanted) => {
    const earlier = before.find(({ type }) => type === wanted.type);
    const lastTransitionTime = earlier?.status === wanted.status ? earlier.lastTransitionTime : now;
    return { ...wanted, lastTransitionTime, ...(generation !== undefined && { observedGeneration: generation }) };
  });
}

function claim(type: string, holds: boolean, reason: string, message: string): Claim {
  return { type, status: holds ? 'True' : 'False', reason, message };
}

function reasonOf(
  hold: { readonly reason: string; readonly message: string } | undefined,
  type: string,
  otherwise: string,
): [string, string] {
  return hold?.reason === type ? [type, hold.message] : [otherwise, ''];
}

function withoutMetric({ verdicts }: UnitDecision): string {
  return verdicts.length === 0
    ? 'the policy names no metric; set spec.metrics'
    : 'no metric could be read; replicas stay as they are';
}

function ratioClaim(isViolated: boolean, limits: readonly Limit[]): Claim {
  const backOff = limits.find(({ rule }) => rule === 'back-off');
  if (isViolated && backOff !== undefined) {
    return claim('RatioConstraintViolated', true, 'BackingOff', `the ratio waits for what does not start: ${backOff.by}`);
  }
  return isViolated
    ? claim(
        'RatioConstraintViolated',
        true,
        'BoundsTooTight',
        'the bounds of the roles leave no way to keep the ratio; widen them',
      )
    : claim('RatioConstraintViolated', false, 'RatioKept', '');
}

/** What a rule did to a recommendation: reason, and a sentence. */
export function limitedBy({ rule, from, to, by = '' }: Limit): [string, string] {
  switch (rule) {
    case 'bounds':
      return from > to
        ? ['AtMaximum', 'metrics ask for more than maxReplicas']
        : ['AtMinimum', 'metrics ask for less than minReplicas'];
    case 'stabilization':
      return ['Stabilizing', 'an earlier recommendation within the stabilization window still counts'];
    case 'rate':
      return ['RateLimited', 'the behavior lets replicas change no faster'];
    case 'panic-rate':
      return ['RateLimited', 'the panic policy lets replicas grow no faster'];
    case 'no-panic-down':
      return ['PanicMode', 'nothing is scaled down while panic lasts'];
    case 'missing-metric':
      return ['MetricMissing', 'a metric that cannot be read could ask for more; nothing is scaled down'];
    case 'stale-view':
      return ['StaleView', 'the view of the cluster is older than two rounds; nothing is scaled down'];
    case 'no-wake-signal':
      return [
        'NoWakeSignal',
        'no ModelServer selects its pods, and pods at zero expose no metric: nothing could wake it, so the last replica stays',
      ];
    case 'busy':
      return ['Busy', `the last replica stays: ${by}`];
    case 'wake':
      return ['Waking', 'requests wait for its pods'];
    case 'starting':
      return ['Starting', 'replicas of a cheaper mix start, and are ready before those go that they replace'];
    case 'back-off':
      return ['BackingOff', `what does not start is not grown for a while: ${by}`];
    case 'largest-step':
      return ['LargestStep', 'the annotation kvasir.dev/largest-step lets replicas change no further at once'];
    case 'rollout':
      return ['RollingOut', 'nothing is scaled down while a rollout is under way'];
    case 'budget':
      return ['NoRoom', by];
    case 'ratio':
      return ['RatioConstraint', 'the ratio of the two roles overrode what the metrics ask for'];
  }
}
