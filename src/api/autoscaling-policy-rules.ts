import { parseDurationMs } from '../duration';
import type { AutoscalingPolicy } from './autoscaling-policy';
import type { AutoscalingPolicyBinding } from './autoscaling-policy-binding';
import { error, type Problem, shown } from './problem';
import { scheduleRules } from './scaling-schedule';
import { disaggregatedRules, metricRules, scalingTargetRules, setTargets } from './scaling-target-rules';

/** Kthena's webhook: longest period, window and hold. */
const MAX_DURATION_MS = 30 * 60_000;

/** Kthena's webhook refuses a policy without metrics, whatever else it says. */
const METRIC_BESIDE_SLO =
  'name at least one metric beside slo, such as { name: running, targetValue: 64 } with metricSources: { running: { pod: { name: "vllm:num_requests_running" } } }; the greater demand of the two counts';

/** What Kthena's webhook asks of a policy. A policy without target is allowed: a binding may name it. */
export function* autoscalingPolicyRules({ spec }: AutoscalingPolicy): Iterable<Problem> {
  const { metrics = [], slo, schedules = [], behavior } = spec;
  const targets = setTargets(spec);
  if (targets.length > 1) {
    yield error('spec', 'autoscaling/one-target', `${targets.join(' and ')} are set`, 'keep one of them');
  }
  yield* metricRules(metrics, 'spec.metrics');
  yield* scalingTargetRules(spec);
  if (metrics.length === 0 && targets.some((target) => target !== 'disaggregatedTarget')) {
    yield error(
      'spec.metrics',
      'autoscaling/no-metrics',
      'missing',
      slo === undefined ? 'name at least one metric' : METRIC_BESIDE_SLO,
    );
  }
  yield* disaggregatedRules(spec, metrics);
  yield* scheduleRules(schedules);
  if (slo !== undefined && slo.ttftMs === undefined && slo.itlMs === undefined) {
    yield error(
      'spec.slo',
      'autoscaling/empty-slo',
      'neither ttftMs nor itlMs is set',
      'set at least one of them, or remove slo',
    );
  }
  const { scaleUp, scaleDown } = behavior;
  yield* durationRule(scaleDown.period, 'spec.behavior.scaleDown.period');
  yield* durationRule(scaleDown.stabilizationWindow, 'spec.behavior.scaleDown.stabilizationWindow');
  yield* durationRule(scaleUp.stablePolicy.period, 'spec.behavior.scaleUp.stablePolicy.period');
  yield* durationRule(scaleUp.stablePolicy.stabilizationWindow, 'spec.behavior.scaleUp.stablePolicy.stabilizationWindow');
  yield* durationRule(scaleUp.panicPolicy.period, 'spec.behavior.scaleUp.panicPolicy.period');
  yield* durationRule(scaleUp.panicPolicy.panicModeHold, 'spec.behavior.scaleUp.panicPolicy.panicModeHold');
}

/** What is asked of a binding: one target, well formed. Its metrics are the policy's and are checked with it. */
export function* autoscalingPolicyBindingRules({ spec }: AutoscalingPolicyBinding): Iterable<Problem> {
  const targets = setTargets(spec);
  if (targets.length !== 1) {
    const what = targets.length === 0 ? 'no target is set' : `${targets.join(' and ')} are set`;
    yield error(
      'spec',
      'autoscaling/one-target',
      what,
      'set exactly one of homogeneousTarget, heterogeneousTarget and disaggregatedTarget',
    );
  }
  yield* scalingTargetRules(spec);
  yield* disaggregatedRules(spec, undefined);
}

function* durationRule(duration: string, field: string): Iterable<Problem> {
  const ms = parseDurationMs(duration)!;
  if (ms < 0 || ms > MAX_DURATION_MS) {
    yield error(
      field,
      'autoscaling/duration',
      `${shown(duration)} is not between 0 and 30 minutes`,
      'use a duration from 0s to 30m',
    );
  }
}
