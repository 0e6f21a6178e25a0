import { SCALE_TARGET_API_VERSIONS } from '../../src/api/scale-target';
import { type AdmissionRule, shownInCel } from './admission-rule';

const SPEC = 'object.spec';
const KINDS = Object.keys(SCALE_TARGET_API_VERSIONS);

/** CEL: whether everything along a path of the spec is there. */
export const hasPath = (path: string): string => {
  const parts = path.split('.');
  return parts.map((_, i) => `has(${SPEC}.${parts.slice(0, i + 1).join('.')})`).join(' && ');
};

/** CEL for a test of something that may stand at several places of a kind: that it holds at all of them, and the first where it does not. */
interface Tested {
  readonly holds: string;
  readonly first: string;
}

/** Where policies and bindings name workloads. */
const REFS = [
  { field: 'homogeneousTarget.target.targetRef', each: (test: string) => single('homogeneousTarget.target.targetRef', test) },
  {
    field: 'heterogeneousTarget.params[].target.targetRef',
    each: (test: string): Tested => ({
      holds: `!(${hasPath('heterogeneousTarget.params')}) || ${SPEC}.heterogeneousTarget.params.all(p, !has(p.target) || ${on('p.target.targetRef', test)})`,
      first: `${SPEC}.heterogeneousTarget.params.filter(p, has(p.target) && !${on('p.target.targetRef', test)})[0].target.targetRef`,
    }),
  },
  { field: 'disaggregatedTarget.targetRef', each: (test: string) => single('disaggregatedTarget.targetRef', test) },
] as const;

const on = (ref: string, test: string): string => `(${test.replaceAll('ref.', `${ref}.`)})`;

const single = (path: string, test: string): Tested => ({
  holds: `!(${hasPath(path)}) || ${on(`${SPEC}.${path}`, test)}`,
  first: `${SPEC}.${path}`,
});

const KIND = '(has(ref.kind) && ref.kind != "" ? ref.kind : "ModelServing")';
const VERSIONS = JSON.stringify(SCALE_TARGET_API_VERSIONS);
const KNOWN_KIND = `${KIND} in ${JSON.stringify(KINDS)}`;
const NAMED = 'has(ref.name) && ref.name != ""';
const SERVED = `!has(ref.apiVersion) || ref.apiVersion == "" || !(${KNOWN_KIND}) || ref.apiVersion.split("/")[0] == ${VERSIONS}[${KIND}].split("/")[0]`;

const refRules: readonly AdmissionRule[] = REFS.flatMap(({ field, each }): AdmissionRule[] => {
  const [kind, name, version] = [each(KNOWN_KIND), each(NAMED), each(SERVED)];
  const kindOfVersion = KIND.replaceAll('ref.', `${version.first}.`);
  return [
    {
      code: 'autoscaling/target-kind',
      field: `spec.${field}.kind`,
      holds: kind.holds,
      message: { cel: `${shownInCel(`${kind.first}.kind`)} + " cannot be scaled"` },
      remedy: `use one of ${KINDS.join(', ')}`,
    },
    {
      code: 'autoscaling/target-version',
      field: `spec.${field}.apiVersion`,
      holds: version.holds,
      message: { cel: `${shownInCel(`${version.first}.apiVersion`)} + " has no " + ${kindOfVersion}` },
      remedy: { cel: `"use " + ${VERSIONS}[${kindOfVersion}] + ", or leave it out"` },
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

export const ROLES = `${SPEC}.disaggregatedTarget.roles`;
export const NO_ROLES = `!(${hasPath('disaggregatedTarget')})`;

/** A test of each role; `r` in it is the name of the role. */
export const eachRole = (test: string): Tested => ({
  holds: `${NO_ROLES} || ${ROLES}.all(r, ${test})`,
  first: `${ROLES}.filter(r, !(${test}))[0]`,
});

const OPERATORS = '["In", "NotIn", "Exists", "DoesNotExist"]';
const SELECTOR = (source: string): string => `${source}.pod.labelSelector`;
const NO_EXPRESSIONS = (source: string): string =>
  `!has(${source}.pod) || !has(${SELECTOR(source)}) || !has(${SELECTOR(source)}.matchExpressions)`;

/** CEL: whether all sources of a map know the operators of their selectors. */
const knowOperators = (sources: string): string =>
  `${sources}.all(k, ${NO_EXPRESSIONS(`${sources}[k]`)} || ${SELECTOR(`${sources}[k]`)}.matchExpressions.all(e, e.operator in ${OPERATORS}))`;

const operatorRule = (field: string, { holds, first }: Tested): AdmissionRule => {
  const source = `${first}[${first}.filter(k, !(${NO_EXPRESSIONS(`${first}[k]`)}) && !${SELECTOR(`${first}[k]`)}.matchExpressions.all(e, e.operator in ${OPERATORS}))[0]]`;
  return {
    code: 'autoscaling/selector-operator',
    field: `spec.${field}`,
    holds,
    message: {
      cel: `${shownInCel(`${SELECTOR(source)}.matchExpressions.filter(e, !(e.operator in ${OPERATORS}))[0].operator`)} + " is no operator"`,
    },
    remedy: 'use In, NotIn, Exists or DoesNotExist',
  };
};

const HOMOGENEOUS_SOURCES = 'homogeneousTarget.target.metricSources';
const PARAMS = `${SPEC}.heterogeneousTarget.params`;
const NO_PARAMS = `!(${hasPath('heterogeneousTarget.params')})`;
const PARAM_OPERATORS = `!has(p.target) || !has(p.target.metricSources) || ${knowOperators('p.target.metricSources')}`;
const ROLE_OPERATORS = eachRole(`!has(${ROLES}[r].metricSources) || ${knowOperators(`${ROLES}[r].metricSources`)}`);

const operatorRules: readonly AdmissionRule[] = [
  operatorRule(HOMOGENEOUS_SOURCES, {
    holds: `!(${hasPath(HOMOGENEOUS_SOURCES)}) || ${knowOperators(`${SPEC}.${HOMOGENEOUS_SOURCES}`)}`,
    first: `${SPEC}.${HOMOGENEOUS_SOURCES}`,
  }),
  operatorRule('heterogeneousTarget.params[].target.metricSources', {
    holds: `${NO_PARAMS} || ${PARAMS}.all(p, ${PARAM_OPERATORS})`,
    first: `${PARAMS}.filter(p, !(${PARAM_OPERATORS}))[0].target.metricSources`,
  }),
  {
    ...operatorRule('disaggregatedTarget.roles.*.metricSources', {
      holds: ROLE_OPERATORS.holds,
      first: `${ROLES}[${ROLE_OPERATORS.first}].metricSources`,
    }),
    key: ROLE_OPERATORS.first,
  },
];

const inOrder = (of: string): string => `${of}.minReplicas <= ${of}.maxReplicas`;
const boundsRule = (field: string, { holds, first }: Tested): AdmissionRule => ({
  code: 'autoscaling/min-above-max',
  field,
  holds,
  message: { cel: `"minReplicas " + string(${first}.minReplicas) + " is above maxReplicas " + string(${first}.maxReplicas)` },
  remedy: 'lower the one or raise the other',
});

const ROLE_BOUNDS = eachRole(inOrder(`${ROLES}[r]`));

const boundsRules: readonly AdmissionRule[] = [
  boundsRule('spec.homogeneousTarget', {
    holds: `!(${hasPath('homogeneousTarget')}) || ${inOrder(`${SPEC}.homogeneousTarget`)}`,
    first: `${SPEC}.homogeneousTarget`,
  }),
  boundsRule('spec.heterogeneousTarget.params[]', {
    holds: `${NO_PARAMS} || ${PARAMS}.all(p, ${inOrder('p')})`,
    first: `${PARAMS}.filter(p, !(${inOrder('p')}))[0]`,
  }),
  {
    ...boundsRule('spec.disaggregatedTarget.roles.*', { holds: ROLE_BOUNDS.holds, first: `${ROLES}[${ROLE_BOUNDS.first}]` }),
    key: ROLE_BOUNDS.first,
  },
];

const namelessRole: AdmissionRule = {
  code: 'autoscaling/role-name',
  field: 'spec.disaggregatedTarget.roles',
  holds: `${NO_ROLES} || !("" in ${ROLES})`,
  message: '"" is no role',
  remedy: 'name the role',
};

/** Rules of the three kinds of target, whether a policy or a binding has it. */
export const scalingTargetAdmission: readonly AdmissionRule[] = [...refRules, ...operatorRules, namelessRole, ...boundsRules];
