import { type AdmissionRule, durationFormatRule, isDuration, shownInCel } from './admission-rule';
import { isNumeric, ratioAdmission } from './ratio-admission';
import { eachRole, hasPath, ROLES, scalingTargetAdmission } from './scaling-target-admission';

const SPEC = 'object.spec';
/** CEL: names of the targets that are set. */
const SET_TARGETS = `(${['homogeneousTarget', 'heterogeneousTarget', 'disaggregatedTarget']
  .map((target) => `(has(${SPEC}.${target}) ? ["${target}"] : [])`)
  .join(' + ')})`;

/** CEL over the number or quantity `value`. */
const above0 = (value: string): string =>
  `(type(${value}) == string ? ${isNumeric(value)} && quantity(${value}).isGreaterThan(quantity("0")) : ${value} > 0)`;
/** A number or string as findings show it. */
const shownQuantity = (value: string): string => `(type(${value}) == string ? ${shownInCel(value)} : string(${value}))`;

const ABOVE_0 = above0('m.targetValue');
const isAlone = (metrics: string): string => `${metrics}.exists_one(n, n.name == m.name)`;

/** Rules of one list of metrics: of the policy, or of a role. */
function metricRules(
  field: string,
  metrics: string,
  all: (test: string) => { readonly holds: string; readonly first?: string },
): AdmissionRule[] {
  const [values, names] = [all(ABOVE_0), all(isAlone(metrics))];
  const of = (role: string | undefined): string => (role === undefined ? metrics : metrics.replaceAll('[r]', `[${role}]`));
  const value = `${of(values.first)}.filter(m, !${ABOVE_0})[0].targetValue`;
  const name = `${of(names.first)}.filter(m, !${isAlone(of(names.first))})[0].name`;
  return [
    {
      code: 'autoscaling/target-value',
      field: `${field}[].targetValue`,
      ...(values.first === undefined ? {} : { key: values.first }),
      holds: values.holds,
      message: { cel: `${shownQuantity(value)} + " is not above 0"` },
      remedy: 'write what one replica should have',
    },
    {
      code: 'autoscaling/duplicate-metric',
      field: `${field}[].name`,
      ...(names.first === undefined ? {} : { key: names.first }),
      holds: names.holds,
      message: { cel: `"a second metric " + ${shownInCel(name)}` },
      remedy: 'keep one of them',
    },
  ];
}

const METRICS = `${SPEC}.metrics`;
const ROLE = `${ROLES}[r]`;
/** CEL: the metrics that role `r` scales by. */
const ROLE_METRICS = `(has(${ROLE}.metrics) ? dyn(${ROLE}.metrics) : has(${METRICS}) ? dyn(${METRICS}) : dyn([]))`;
const IS_FIXED = `(${ROLE}.minReplicas == ${ROLE}.maxReplicas && ${ROLE}.minReplicas > 0)`;
const NO_SOURCES = `(!has(${ROLE}.metricSources) || size(${ROLE}.metricSources) == 0)`;
const IS_USED = `${ROLE_METRICS}.exists(m, m.name == k)`;

const [WITH_METRICS, WITH_SOURCES, WITH_USED_SOURCES] = [
  eachRole(`${IS_FIXED} || size(${ROLE_METRICS}) > 0`),
  eachRole(`${IS_FIXED} || size(${ROLE_METRICS}) == 0 || !${NO_SOURCES}`),
  eachRole(`${NO_SOURCES} || ${ROLE}.metricSources.all(k, ${IS_USED})`),
];
const ofFirst = (cel: string): string => cel.replaceAll('[r]', `[${WITH_USED_SOURCES.first}]`);

/** Rules of the metrics that a role has itself. */
const ownMetricRules = metricRules('spec.disaggregatedTarget.roles.*.metrics', `${ROLE}.metrics`, (test) =>
  eachRole(`!has(${ROLE}.metrics) || ${ROLE}.metrics.all(m, ${test})`),
);

/** Rules of roles beside the metrics of their policy. */
const roleMetricRules: readonly AdmissionRule[] = [
  {
    code: 'autoscaling/no-metrics',
    field: 'spec.disaggregatedTarget.roles.*.metrics',
    key: WITH_METRICS.first,
    holds: WITH_METRICS.holds,
    message: 'missing, and the policy has none of its own',
    remedy: 'give the role or the policy metrics',
  },
  {
    code: 'autoscaling/no-metric-sources',
    field: 'spec.disaggregatedTarget.roles.*.metricSources',
    key: WITH_SOURCES.first,
    holds: WITH_SOURCES.holds,
    message: 'missing',
    remedy: 'say where the metrics of the role are read',
  },
  {
    code: 'autoscaling/unused-metric-source',
    field: 'spec.disaggregatedTarget.roles.*.metricSources',
    key: WITH_USED_SOURCES.first,
    holds: WITH_USED_SOURCES.holds,
    message: {
      cel: `"no metric is called " + ${shownInCel(`${ofFirst(`${ROLE}.metricSources.filter(k, !${IS_USED})`)}[0]`)}`,
    },
    remedy: {
      cel: `"use one of: " + (size(${ofFirst(ROLE_METRICS)}) == 0 ? "none" : ${ofFirst(ROLE_METRICS)}.map(m, m.name).join(", "))`,
    },
  },
];

const DURATIONS = [
  'behavior.scaleDown.period',
  'behavior.scaleDown.stabilizationWindow',
  'behavior.scaleUp.stablePolicy.period',
  'behavior.scaleUp.stablePolicy.stabilizationWindow',
  'behavior.scaleUp.panicPolicy.period',
  'behavior.scaleUp.panicPolicy.panicModeHold',
];

const durationRules: readonly AdmissionRule[] = DURATIONS.flatMap((path) => {
  const [value, absent] = [`${SPEC}.${path}`, `!(${hasPath(path)})`];
  return [
    durationFormatRule(`spec.${path}`, value, absent),
    {
      code: 'autoscaling/duration',
      field: `spec.${path}`,
      holds: `${absent} || !${isDuration(value)} || (duration(${value}) >= duration("0s") && duration(${value}) <= duration("30m"))`,
      message: { cel: `${shownInCel(value)} + " is not between 0 and 30 minutes"` },
      remedy: 'use a duration from 0s to 30m',
    },
  ];
});

/** Rules of AutoscalingPolicy that its definition does not have. */
export const autoscalingPolicyAdmission: readonly AdmissionRule[] = [
  {
    code: 'autoscaling/one-target',
    field: 'spec',
    holds: `size(${SET_TARGETS}) <= 1`,
    message: { cel: `${SET_TARGETS}.join(" and ") + " are set"` },
    remedy: 'keep one of them',
  },
  {
    code: 'autoscaling/no-metrics',
    field: 'spec.metrics',
    holds: `(has(${METRICS}) && size(${METRICS}) > 0) || ${SET_TARGETS}.all(t, t == "disaggregatedTarget")`,
    message: 'missing',
    remedy: 'name at least one metric',
  },
  ...metricRules('spec.metrics', METRICS, (test) => ({ holds: `!has(${METRICS}) || ${METRICS}.all(m, ${test})` })),
  {
    code: 'autoscaling/empty-slo',
    field: 'spec.slo',
    isExtension: true,
    holds: `!has(${SPEC}.slo) || has(${SPEC}.slo.ttftMs) || has(${SPEC}.slo.itlMs)`,
    message: 'neither ttftMs nor itlMs is set',
    remedy: 'set at least one of them, or remove slo',
  },
  {
    code: 'autoscaling/time-zone',
    field: 'spec.schedules[].timeZone',
    isExtension: true,
    computes: `!has(${SPEC}.schedules) || ${SPEC}.schedules.all(s, timestamp("2000-01-01T00:00:00Z").getHours(s.timeZone) >= 0)`,
    message: 'is no time zone',
    remedy: 'use an IANA name, such as Europe/Berlin',
  },
  ...scalingTargetAdmission,
  ...ownMetricRules,
  ...roleMetricRules,
  ...ratioAdmission,
  ...durationRules,
];

/** Rules of AutoscalingPolicyBinding that its definition does not have. */
export const autoscalingPolicyBindingAdmission: readonly AdmissionRule[] = [
  ...scalingTargetAdmission,
  ...ownMetricRules,
  ...ratioAdmission,
];
