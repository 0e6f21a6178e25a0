import { SCALE_TARGET_API_VERSIONS } from '../../src/api/scale-target';
import { type AdmissionRule, shownInCel } from './admission-rule';

const SPEC = 'object.spec';
const TARGETS = '["homogeneousTarget", "heterogeneousTarget", "disaggregatedTarget"]';
/** CEL: names of the targets that are set. */
const SET_TARGETS = `${TARGETS}.filter(t, t in ${SPEC})`;

/** What stands under a path of which every part may be absent. */
const has = (path: string): string => {
  const parts = path.split('.');
  return parts.map((_, i) => `has(${SPEC}.${parts.slice(0, i + 1).join('.')})`).join(' && ');
};

/** Where policies and bindings name workloads: path in the spec of one, or of a list and in its elements. */
const REFS = [
  { field: 'homogeneousTarget.target.targetRef', each: (test: string) => single('homogeneousTarget.target.targetRef', test) },
  {
    field: 'heterogeneousTarget.params[].target.targetRef',
    each: (test: string) => ({
      holds: `!(${has('heterogeneousTarget.params')}) || ${SPEC}.heterogeneousTarget.params.all(p, !has(p.target) || ${on('p.target.targetRef', test)})`,
      first: `${SPEC}.heterogeneousTarget.params.filter(p, has(p.target) && !${on('p.target.targetRef', test)})[0].target.targetRef`,
    }),
  },
  { field: 'disaggregatedTarget.targetRef', each: (test: string) => single('disaggregatedTarget.targetRef', test) },
] as const;

const on = (ref: string, test: string): string => `(${test.replaceAll('ref.', `${ref}.`)})`;

const single = (path: string, test: string) => ({
  holds: `!(${has(path)}) || ${on(`${SPEC}.${path}`, test)}`,
  first: `${SPEC}.${path}`,
});

const KINDS = Object.keys(SCALE_TARGET_API_VERSIONS);
const KNOWN_KIND = `!has(ref.kind) || ref.kind == "" || ref.kind in ${JSON.stringify(KINDS)}`;
const NAMED = 'has(ref.name) && ref.name != ""';

const refRules: readonly AdmissionRule[] = REFS.flatMap(({ field, each }): AdmissionRule[] => {
  const [kind, name] = [each(KNOWN_KIND), each(NAMED)];
  return [
    {
      code: 'autoscaling/target-kind',
      field: `spec.${field}.kind`,
      holds: kind.holds,
      message: { cel: `${shownInCel(`${kind.first}.kind`)} + " cannot be scaled"` },
      remedy: `use one of ${KINDS.join(', ')}`,
    },
    {
      code: 'autoscaling/target-name',
      field: `spec.${field}.name`,
      holds: name.holds,
      message: 'missing',
      remedy: 'name the workload to scale',
    },
  ];
});

/** CEL over the number or quantity `value`. */
const above0 = (value: string): string =>
  `(type(${value}) == string ? quantity(${value}).isGreaterThan(quantity("0")) : ${value} > 0)`;
/** A number or string as findings show it. */
const shownQuantity = (value: string): string => `(type(${value}) == string ? ${shownInCel(value)} : string(${value}))`;

const METRICS = `${SPEC}.metrics`;
const NO_METRICS = `!has(${METRICS})`;
const ROLES = `${SPEC}.disaggregatedTarget.roles`;
const NO_ROLES = `!(${has('disaggregatedTarget')})`;

const bounds = (of: string): string => `${of}.minReplicas <= ${of}.maxReplicas`;
const shownBounds = (of: string): string =>
  `"minReplicas " + string(${of}.minReplicas) + " is above maxReplicas " + string(${of}.maxReplicas)`;
const boundsRule = (field: string, holds: string, first: string): AdmissionRule => ({
  code: 'autoscaling/min-above-max',
  field,
  holds,
  message: { cel: shownBounds(first) },
  remedy: 'lower the one or raise the other',
});

const PARAMS = `${SPEC}.heterogeneousTarget.params`;
const boundsRules: readonly AdmissionRule[] = [
  boundsRule(
    'spec.homogeneousTarget',
    `!(${has('homogeneousTarget')}) || ${bounds(`${SPEC}.homogeneousTarget`)}`,
    `${SPEC}.homogeneousTarget`,
  ),
  boundsRule(
    'spec.heterogeneousTarget.params[]',
    `!(${has('heterogeneousTarget.params')}) || ${PARAMS}.all(p, ${bounds('p')})`,
    `${PARAMS}.filter(p, !(${bounds('p')}))[0]`,
  ),
  boundsRule(
    'spec.disaggregatedTarget.roles',
    `${NO_ROLES} || ${ROLES}.all(r, ${bounds(`${ROLES}[r]`)})`,
    `${ROLES}[${ROLES}.filter(r, !(${bounds(`${ROLES}[r]`)}))[0]]`,
  ),
];

const RATIO = `${SPEC}.disaggregatedTarget.ratioConstraint`;
const NO_RATIO = `!(${has('disaggregatedTarget.ratioConstraint')})`;

const ratioRules: readonly AdmissionRule[] = [
  ...(['numeratorRole', 'denominatorRole'] as const).map(
    (side): AdmissionRule => ({
      code: 'autoscaling/ratio-roles',
      field: `spec.disaggregatedTarget.ratioConstraint.${side}`,
      holds: `${NO_RATIO} || ${RATIO}.${side} in ${ROLES}`,
      message: { cel: `${shownInCel(`${RATIO}.${side}`)} + " is not among the roles"` },
      remedy: 'use one of its roles',
    }),
  ),
  {
    code: 'autoscaling/ratio-zero',
    field: 'spec.disaggregatedTarget.ratioConstraint',
    holds: `${NO_RATIO} || !(${RATIO}.numeratorRole in ${ROLES}) || !(${RATIO}.denominatorRole in ${ROLES}) || (${ROLES}[${RATIO}.numeratorRole].minReplicas == 0) == (${ROLES}[${RATIO}.denominatorRole].minReplicas == 0)`,
    message: 'only one of the two roles may scale to zero',
    remedy: 'give both or neither minReplicas 0',
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

const durationRules: readonly AdmissionRule[] = DURATIONS.map((path) => ({
  code: 'autoscaling/duration',
  field: `spec.${path}`,
  holds: `!(${has(path)}) || (duration(${SPEC}.${path}) >= duration("0s") && duration(${SPEC}.${path}) <= duration("30m"))`,
  message: { cel: `${shownInCel(`${SPEC}.${path}`)} + " is not between 0 and 30 minutes"` },
  remedy: 'use a duration from 0s to 30m',
}));

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
  {
    code: 'autoscaling/target-value',
    field: 'spec.metrics[].targetValue',
    holds: `${NO_METRICS} || ${METRICS}.all(m, ${above0('m.targetValue')})`,
    message: {
      cel: `${shownQuantity(`${METRICS}.filter(m, !${above0('m.targetValue')})[0].targetValue`)} + " is not above 0"`,
    },
    remedy: 'write what one replica should have',
  },
  {
    code: 'autoscaling/duplicate-metric',
    field: 'spec.metrics[].name',
    holds: `${NO_METRICS} || ${METRICS}.all(m, ${METRICS}.exists_one(n, n.name == m.name))`,
    message: {
      cel: `"a second metric " + ${shownInCel(`${METRICS}.filter(m, !${METRICS}.exists_one(n, n.name == m.name))[0].name`)}`,
    },
    remedy: 'keep one of them',
  },
  {
    code: 'autoscaling/empty-slo',
    field: 'spec.slo',
    holds: `!has(${SPEC}.slo) || has(${SPEC}.slo.ttftMs) || has(${SPEC}.slo.itlMs)`,
    message: 'neither ttftMs nor itlMs is set',
    remedy: 'set at least one of them, or remove slo',
  },
  ...refRules,
  ...boundsRules,
  ...ratioRules,
  ...durationRules,
];

/** Rules of AutoscalingPolicyBinding that its definition does not have. */
export const autoscalingPolicyBindingAdmission: readonly AdmissionRule[] = [...refRules, ...boundsRules, ...ratioRules];
