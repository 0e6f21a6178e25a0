import { autoscalingPolicy, autoscalingPolicyBinding, disaggregatedPolicy, withField, withFields } from '../api-objects';
import { type AdmissionCase, accepted, refused } from './admission-case';

type Fields = Readonly<Record<string, unknown>>;
const policy = (fields: Fields) => withFields(autoscalingPolicy, fields);
const roles = (fields: Fields) => withFields(disaggregatedPolicy, fields);
const binding = (fields: Fields) => withFields(autoscalingPolicyBinding, fields);

const heterogeneous = policy({
  'spec.homogeneousTarget': undefined,
  'spec.heterogeneousTarget': { params: [{ target: { targetRef: { name: 'a' } }, minReplicas: 1, maxReplicas: 2 }] },
});
const pools = (fields: Fields) => withFields(heterogeneous, fields);

const [ref, param, base] = [
  'spec.homogeneousTarget.target.targetRef',
  'spec.heterogeneousTarget.params[0]',
  'spec.disaggregatedTarget',
];
const ratio = `${base}.ratioConstraint`;
const sources = 'spec.homogeneousTarget.target.metricSources';
const selectedBy = (operator: string) => ({ pod: { labelSelector: { matchExpressions: [{ key: 'a', operator }] } } });
const metrics = (...values: (number | string)[]) => values.map((targetValue, i) => ({ name: `m${i}`, targetValue }));
const twice = [...metrics(1), ...metrics(2)];

const KINDS = 'use one of ModelServing, Deployment, StatefulSet, LeaderWorkerSet, DisaggregatedSetRoleScaler';

const targets: readonly AdmissionCase[] = [
  accepted('a policy', autoscalingPolicy),
  accepted('a policy of several workloads', heterogeneous),
  accepted('a policy of two roles', disaggregatedPolicy),
  accepted('a policy for a binding', policy({ 'spec.homogeneousTarget': undefined })),
  accepted('a policy of a Deployment', policy({ [ref]: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' } })),
  accepted(
    'a policy that names an older version',
    policy({ [ref]: { apiVersion: 'apps/v1beta2', kind: 'Deployment', name: 'a' } }),
  ),
  accepted('a policy to zero', policy({ 'spec.homogeneousTarget.minReplicas': 0 })),
  refused(
    'a policy with two targets',
    pools({ 'spec.homogeneousTarget': autoscalingPolicy.spec.homogeneousTarget }),
    'spec',
    'homogeneousTarget and heterogeneousTarget are set; keep one of them',
  ),
  refused(
    'a policy of no pools',
    pools({ 'spec.heterogeneousTarget.params': [] }),
    'spec.heterogeneousTarget.params',
    'should have at least 1 items',
  ),
  refused('a policy of a Job', policy({ [ref]: { kind: 'Job', name: 'a' } }), `${ref}.kind`, `"Job" cannot be scaled; ${KINDS}`),
  refused(
    'a policy of a Deployment of another group',
    policy({ [ref]: { apiVersion: 'extensions/v1beta1', kind: 'Deployment', name: 'a' } }),
    `${ref}.apiVersion`,
    '"extensions/v1beta1" has no Deployment; use apps/v1, or leave it out',
  ),
  refused(
    'a policy of a nameless workload',
    policy({ [ref]: { kind: 'Deployment' } }),
    `${ref}.name`,
    'missing; name the workload to scale',
  ),
  refused(
    'a policy of several workloads, one a Job',
    pools({ [`${param}.target.targetRef`]: { kind: 'Job', name: 'a' } }),
    `${param}.target.targetRef.kind`,
    '"Job" cannot be scaled',
  ),
  refused(
    'a policy of several workloads, one of another group',
    pools({ [`${param}.target.targetRef`]: { apiVersion: 'batch/v1', name: 'a' } }),
    `${param}.target.targetRef.apiVersion`,
    '"batch/v1" has no ModelServing',
  ),
  refused(
    'a policy of several workloads, one nameless',
    pools({ [`${param}.target.targetRef`]: { name: '' } }),
    `${param}.target.targetRef.name`,
    'missing',
  ),
  refused(
    'a policy of roles of a Job',
    roles({ [`${base}.targetRef`]: { kind: 'Job', name: 'a' } }),
    `${base}.targetRef.kind`,
    '"Job" cannot be scaled',
  ),
  refused(
    'a policy of roles of another group',
    roles({ [`${base}.targetRef`]: { apiVersion: 'v1', name: 'a' } }),
    `${base}.targetRef.apiVersion`,
    '"v1" has no ModelServing',
  ),
  refused(
    'a policy of roles of a nameless workload',
    roles({ [`${base}.targetRef`]: { name: '' } }),
    `${base}.targetRef.name`,
    'missing',
  ),
  refused(
    'a policy with bounds in the wrong order',
    policy({ 'spec.homogeneousTarget.minReplicas': 5 }),
    'spec.homogeneousTarget',
    'minReplicas 5 is above maxReplicas 4',
  ),
  refused(
    'a policy of several workloads with bounds in the wrong order',
    pools({ [`${param}.minReplicas`]: 5 }),
    param,
    'minReplicas 5 is above maxReplicas 2',
  ),
  refused(
    'a policy of roles with bounds in the wrong order',
    roles({ [`${base}.roles.decode.minReplicas`]: 5 }),
    `${base}.roles.decode`,
    'minReplicas 5 is above maxReplicas 4',
  ),
  refused(
    'a policy with too many replicas',
    policy({ 'spec.homogeneousTarget.maxReplicas': 1_000_001 }),
    'spec.homogeneousTarget.maxReplicas',
    'less than or equal to 1000000',
  ),
  refused(
    'a policy of fewer than no replicas',
    policy({ 'spec.homogeneousTarget.minReplicas': -1 }),
    'spec.homogeneousTarget.minReplicas',
    'greater than or equal to 0',
  ),
];

const metricCases: readonly AdmissionCase[] = [
  accepted('a policy with quantities', policy({ 'spec.metrics': metrics('800m', 8, '1e3') })),
  accepted(
    'a policy that reads pods and Prometheus',
    policy({ [sources]: { m: selectedBy('In'), n: { prometheus: { serverURL: 'http://p:9090', query: 'up' } } } }),
  ),
  refused('a policy without metrics', policy({ 'spec.metrics': [] }), 'spec.metrics', 'missing; name at least one metric'),
  refused(
    'a policy of several workloads without metrics',
    pools({ 'spec.metrics': undefined }),
    'spec.metrics',
    'missing; name at least one metric',
  ),
  refused(
    'a policy that aims at nothing',
    policy({ 'spec.metrics': metrics(1, 0) }),
    'spec.metrics[1].targetValue',
    '0 is not above 0; write what one replica should have',
  ),
  refused(
    'a policy that aims below nothing',
    policy({ 'spec.metrics': metrics(-1) }),
    'spec.metrics[0].targetValue',
    '-1 is not above 0',
  ),
  refused(
    'a policy that aims below nothing, as a quantity',
    policy({ 'spec.metrics': metrics('-500m') }),
    'spec.metrics[0].targetValue',
    '"-500m" is not above 0',
  ),
  refused(
    'a policy that aims at no quantity',
    policy({ 'spec.metrics': metrics('many') }),
    'spec.metrics[0].targetValue',
    'should match',
  ),
  refused(
    'a policy that aims at a quantity that only looks so',
    policy({ 'spec.metrics': metrics('1e1.5') }),
    'spec.metrics[0].targetValue',
    '"1e1.5" is not above 0',
  ),
  refused(
    'a policy with a metric twice',
    policy({ 'spec.metrics': twice }),
    'spec.metrics[1].name',
    'a second metric "m0"; keep one of them',
  ),
  refused(
    'a policy with a nameless metric',
    policy({ 'spec.metrics': [{ name: '', targetValue: 1 }] }),
    'spec.metrics[0].name',
    'at least 1 chars long',
  ),
  refused(
    'a policy that reads a metric nowhere',
    policy({ [sources]: { m: {} } }),
    `${sources}.m`,
    'one metric source backend config is required',
  ),
  refused(
    'a policy that reads a metric twice',
    policy({ [sources]: { m: { pod: {}, prometheus: { serverURL: 'http://p', query: 'up' } } } }),
    `${sources}.m`,
    'pod and prometheus configs are mutually exclusive',
  ),
  refused(
    'a policy that selects pods by no operator',
    policy({ [sources]: { m: selectedBy('Equals') } }),
    `${sources}.m.pod.labelSelector.matchExpressions[0].operator`,
    '"Equals" is no operator; use In, NotIn, Exists or DoesNotExist',
  ),
  refused(
    'a policy of several workloads that selects pods by no operator',
    pools({ [`${param}.target.metricSources`]: { m: selectedBy('Is') } }),
    `${param}.target.metricSources.m.pod.labelSelector.matchExpressions[0].operator`,
    '"Is" is no operator',
  ),
  refused(
    'a policy of roles that selects pods by no operator',
    roles({ [`${base}.roles.prefill.metricSources.running`]: selectedBy('Is') }),
    `${base}.roles.prefill.metricSources.running.pod.labelSelector.matchExpressions[0].operator`,
    '"Is" is no operator',
  ),
  refused('a policy with an empty objective', policy({ 'spec.slo': {} }), 'spec.slo', 'neither ttftMs nor itlMs is set'),
];

const role = `${base}.roles.prefill`;
const roleCases: readonly AdmissionCase[] = [
  accepted(
    'a policy of a role with metrics of its own',
    roles({ [`${role}.metrics`]: metrics(1), [`${role}.metricSources`]: { m0: { pod: {} } } }),
  ),
  accepted('a policy of a role that is fixed', roles({ [role]: { minReplicas: 2, maxReplicas: 2 } })),
  accepted('a policy of one role', roles({ [`${base}.roles.decode`]: undefined, [ratio]: undefined })),
  refused(
    'a policy of no role',
    roles({ [`${base}.roles`]: {}, [ratio]: undefined }),
    `${base}.roles`,
    'should have at least 1 properties',
  ),
  refused(
    'a policy of a nameless role',
    roles({ [`${base}.roles`]: { '': disaggregatedPolicy.spec.disaggregatedTarget.roles.decode }, [ratio]: undefined }),
    `${base}.roles[""]`,
    '"" is no role; name the role',
  ),
  refused(
    'a policy of roles without any metrics',
    roles({
      'spec.metrics': undefined,
      [`${base}.roles.decode`]: { minReplicas: 1, maxReplicas: 1 },
      [`${role}.metricSources`]: undefined,
    }),
    `${role}.metrics`,
    'missing, and the policy has none of its own',
  ),
  refused(
    'a policy of roles whose metrics are read nowhere',
    roles({ [`${role}.metricSources`]: undefined }),
    `${role}.metricSources`,
    'missing; say where the metrics of the role are read',
  ),
  refused(
    'a policy of roles that reads what it does not scale by',
    roles({ [`${role}.metricSources`]: { running: { pod: {} }, other: { pod: {} } } }),
    `${role}.metricSources.other`,
    'no metric is called "other"; use one of: running',
  ),
  refused(
    'a policy of a role that aims at nothing',
    roles({ [`${role}.metrics`]: metrics(0), [`${role}.metricSources`]: { m0: { pod: {} } } }),
    `${role}.metrics[0].targetValue`,
    '0 is not above 0',
  ),
  refused(
    'a policy of a role with a metric twice',
    roles({ [`${role}.metrics`]: twice, [`${role}.metricSources`]: { m0: { pod: {} } } }),
    `${role}.metrics[1].name`,
    'a second metric "m0"',
  ),
  accepted('a policy of roles that can just be in ratio', roles({ [`${ratio}.minRatio`]: 4, [`${ratio}.maxRatio`]: 4 })),
  accepted(
    'a policy of roles that may all be zero',
    roles({ [`${role}.minReplicas`]: 0, [`${base}.roles.decode.minReplicas`]: 0 }),
  ),
  refused(
    'a policy whose ratio needs the other role',
    roles({ [`${base}.roles.decode`]: undefined }),
    `${base}.roles`,
    'at least two entries',
  ),
  refused(
    'a policy of a role in ratio to itself',
    roles({ [`${ratio}.denominatorRole`]: 'prefill' }),
    ratio,
    'numeratorRole and denominatorRole must differ',
  ),
  refused(
    'a policy whose ratio names no role',
    roles({ [`${ratio}.numeratorRole`]: 'encode' }),
    `${ratio}.numeratorRole`,
    '"encode" is not among the roles',
  ),
  refused(
    'a policy whose ratio divides by no role',
    roles({ [`${ratio}.denominatorRole`]: 'encode' }),
    `${ratio}.denominatorRole`,
    '"encode" is not among the roles',
  ),
  refused('a policy whose ratio is no range', roles({ [`${ratio}.minRatio`]: '2.5' }), ratio, '2.5 to 2 is no range'),
  refused('a policy whose ratio is below zero', roles({ [`${ratio}.minRatio`]: '-500m' }), ratio, '-0.5 to 2 is no range'),
  refused(
    'a policy whose ratio is zero',
    roles({ [`${ratio}.minRatio`]: 0, [`${ratio}.maxRatio`]: 0 }),
    ratio,
    '0 to 0 is no range',
  ),
  refused(
    'a policy whose ratio only looks like a number',
    roles({ [`${ratio}.maxRatio`]: '1e1.5' }),
    ratio,
    'minRatio or maxRatio is no finite number',
  ),
  refused(
    'a policy of which one role may be zero',
    roles({ [`${role}.minReplicas`]: 0 }),
    ratio,
    'only one of the two roles may scale to zero',
  ),
  refused(
    'a policy whose ratio is too great for its bounds',
    roles({ [`${ratio}.minRatio`]: 5, [`${ratio}.maxRatio`]: 6 }),
    ratio,
    "no replicas within the roles' bounds have a ratio of 5 to 6",
  ),
  refused(
    'a policy whose ratio is too small for its bounds',
    roles({ [`${ratio}.minRatio`]: '0.1', [`${ratio}.maxRatio`]: '0.2' }),
    ratio,
    'a ratio of 0.1 to 0.2',
  ),
];

const DURATIONS = [
  'scaleDown.period',
  'scaleDown.stabilizationWindow',
  'scaleUp.stablePolicy.period',
  'scaleUp.stablePolicy.stabilizationWindow',
  'scaleUp.panicPolicy.period',
  'scaleUp.panicPolicy.panicModeHold',
];
/** The period of a panic policy has no default. */
const lasting = (path: string, value: string) =>
  policy({ 'spec.behavior.scaleUp.panicPolicy.period': '1m', [`spec.behavior.${path}`]: value });

const behaviour: readonly AdmissionCase[] = [
  accepted(
    'a policy with the longest windows',
    policy({ 'spec.behavior.scaleDown': { period: '30m', stabilizationWindow: '29m60s' } }),
  ),
  accepted('a policy with a behavior that says nothing', policy({ 'spec.behavior': { scaleUp: {}, scaleDown: {} } })),
  ...DURATIONS.flatMap((path) => [
    refused(
      `a policy whose ${path} is too long`,
      lasting(path, '31m'),
      `spec.behavior.${path}`,
      '"31m" is not between 0 and 30 minutes; use a duration from 0s to 30m',
    ),
    refused(
      `a policy whose ${path} is below zero`,
      lasting(path, '-1s'),
      `spec.behavior.${path}`,
      '"-1s" is not between 0 and 30 minutes',
    ),
    refused(
      `a policy whose ${path} is no duration`,
      lasting(path, 'long'),
      `spec.behavior.${path}`,
      '"long" is no duration; write it like 500ms, 15s or 1m30s',
    ),
  ]),
  refused(
    'a policy that panics for no known time',
    policy({ 'spec.behavior.scaleUp.panicPolicy': {} }),
    'spec.behavior.scaleUp.panicPolicy.period',
    'Required value',
  ),
  refused(
    'a policy that panics at once',
    policy({ 'spec.behavior.scaleUp.panicPolicy': { period: '0s', panicThresholdPercent: 109 } }),
    'spec.behavior.scaleUp.panicPolicy.panicThresholdPercent',
    'greater than or equal to 110',
  ),
  accepted(
    'a policy with a schedule',
    policy({ 'spec.schedules': [{ timeZone: 'Europe/Berlin', from: '08:00', to: '18:00', replicas: 3 }] }),
  ),
  refused(
    'a policy with a schedule of no time zone',
    policy({ 'spec.schedules': [{ timeZone: 'Europe/Berln', from: '08:00', to: '18:00', replicas: 3 }] }),
    'spec.schedules[0].timeZone',
    'unknown time zone Europe/Berln',
  ),
];

const bindings: readonly AdmissionCase[] = [
  accepted('a binding', autoscalingPolicyBinding),
  accepted(
    'a binding of roles',
    binding({ 'spec.homogeneousTarget': undefined, [base]: disaggregatedPolicy.spec.disaggregatedTarget }),
  ),
  refused('a binding of no policy', binding({ 'spec.policyRef': undefined }), 'spec.policyRef', 'Required value'),
  refused('a binding of nothing', binding({ 'spec.homogeneousTarget': undefined }), 'spec', 'exactly one of'),
  refused(
    'a binding with bounds in the wrong order',
    binding({ 'spec.homogeneousTarget.minReplicas': 5 }),
    'spec.homogeneousTarget',
    'minReplicas 5 is above maxReplicas 4',
  ),
  refused('a binding of a Job', binding({ [ref]: { kind: 'Job', name: 'a' } }), `${ref}.kind`, '"Job" cannot be scaled'),
  refused(
    'a binding of a role that aims at nothing',
    binding({
      'spec.homogeneousTarget': undefined,
      [base]: withField(disaggregatedPolicy.spec.disaggregatedTarget, 'roles.decode.metrics', metrics(0)),
    }),
    `${base}.roles.decode.metrics[0].targetValue`,
    '0 is not above 0',
  ),
];

/** What policies and bindings are tried with. */
export const scalingCases: readonly AdmissionCase[] = [...targets, ...metricCases, ...roleCases, ...behaviour, ...bindings];
