import { type AdmissionRule, shownInCel } from './admission-rule';

const SPEC = 'object.spec';
const ROLES = `${SPEC}.template.roles`;
const IS_ROLE_ROLLING = `(has(${SPEC}.rolloutStrategy) && ${SPEC}.rolloutStrategy.type == "RoleRollingUpdate")`;

/** CEL: whether `name` is a DNS label that begins with a letter. */
const isDns1035 = (name: string): string => `(size(${name}) <= 63 && ${name}.matches("^[a-z]([-a-z0-9]*[a-z0-9])?$"))`;
/** CEL: `value`, a number or text, as findings show it. */
const shownAmount = (value: string): string => `(type(${value}) == string ? ${shownInCel(value)} : string(${value}))`;
/** CEL: whether `value` is a whole number from 0 or a percentage up to 100. */
const isAmount = (value: string): string =>
  `(type(${value}) == string ? ${value}.matches("^0*(100|[0-9]{1,2})%$") : ${value} >= 0)`;
/** CEL: what the amount `value` is of `replicas`; percentages are rounded down. */
const amountOf = (value: string, replicas: string): string =>
  `(type(${value}) == string ? int(${value}.replace("%", "")) * ${replicas} / 100 : int(${value}))`;

/** A rule that all roles keep; `r` in it is the role. */
function roleRule(
  field: string,
  test: string,
  rule: Pick<AdmissionRule, 'code'> & {
    readonly message: (role: string) => string;
    readonly remedy: string | ((role: string) => string);
  },
): AdmissionRule {
  const first = `${ROLES}.filter(r, !(${test}))[0]`;
  return {
    code: rule.code,
    field,
    holds: `${ROLES}.all(r, ${test})`,
    message: { cel: rule.message(first) },
    remedy: typeof rule.remedy === 'string' ? rule.remedy : { cel: rule.remedy(first) },
  };
}

const podName = (role: string): string =>
  `object.metadata.name + "-" + string(${SPEC}.replicas) + "-" + ${role}.name + "-" + string(${role}.replicas) + "-" + string(${role}.workerReplicas)`;

const nameRules: readonly AdmissionRule[] = [
  roleRule('metadata.name', `!${isDns1035('r.name')} || ${isDns1035(`(${podName('r')})`)}`, {
    code: 'model-serving/name',
    message: (r) => `"pods of role " + ${r}.name + " would be named like " + ${shownInCel(podName(r))}`,
    remedy: 'use a name that begins with a letter and leaves pod names at most 63 characters',
  }),
  roleRule('spec.template.roles[].name', isDns1035('r.name'), {
    code: 'model-serving/role-name',
    message: (r) => `${shownInCel(`${r}.name`)} + " is no name for pods"`,
    remedy: 'use lower-case letters, digits and -, a letter first',
  }),
];

const amountRules: readonly AdmissionRule[] = [
  ...(['replicas', 'workerReplicas'] as const).map((field) =>
    roleRule(`spec.template.roles[].${field}`, `r.${field} >= 0`, {
      code: 'model-serving/negative',
      message: (r) => `string(${r}.${field}) + " is negative"`,
      remedy: 'use 0 or more',
    }),
  ),
  roleRule('spec.template.roles[].workerTemplate', 'r.workerReplicas <= 0 || has(r.workerTemplate)', {
    code: 'model-serving/worker-template',
    message: (r) => `"missing, and there are " + string(${r}.workerReplicas) + " workers"`,
    remedy: 'say what the workers are',
  }),
];

const HAS_SPACES = '(has(c.image) && c.image != "" && (c.image.matches(r"^\\s*$") || c.image.contains(" ")))';

const imageRules: readonly AdmissionRule[] = (['entryTemplate', 'workerTemplate'] as const).map((template) => {
  const containers = `r.${template}.spec.containers`;
  const test = `!has(r.${template}) || !has(r.${template}.spec) || !has(${containers}) || !${containers}.exists(c, ${HAS_SPACES})`;
  return roleRule(`spec.template.roles[].${template}.spec.containers[].image`, test, {
    code: 'model-serving/image',
    message: (r) => `${shownInCel(`${r}.${template}.spec.containers.filter(c, ${HAS_SPACES})[0].image`)} + " has spaces"`,
    remedy: 'write the image without spaces',
  });
});

const GROUPS = `${SPEC}.rolloutStrategy.rollingUpdateConfiguration`;
const NO_GROUPS = `(!has(${SPEC}.rolloutStrategy) || !has(${GROUPS}))`;
const AT_ONCE = `${GROUPS}.maxUnavailable`;
const groupsPath = 'spec.rolloutStrategy.rollingUpdateConfiguration';

const groupRolloutRules: readonly AdmissionRule[] = [
  {
    code: 'model-serving/recovery',
    field: 'spec.recoveryPolicy',
    holds: `!${IS_ROLE_ROLLING} || ${SPEC}.recoveryPolicy != "ServingGroupRecreate"`,
    message: 'ServingGroupRecreate does not go with RoleRollingUpdate',
    remedy: 'use RoleRecreate',
  },
  {
    code: 'model-serving/rollout',
    field: groupsPath,
    holds: `${NO_GROUPS} || !${IS_ROLE_ROLLING}`,
    message: 'only goes with ServingGroupRollingUpdate',
    remedy: "set the role's maxUnavailable and partition instead",
  },
  ...(['maxUnavailable', 'partition'] as const).map(
    (field): AdmissionRule => ({
      code: 'model-serving/amount',
      field: `${groupsPath}.${field}`,
      holds: `${NO_GROUPS} || ${IS_ROLE_ROLLING} || !has(${GROUPS}.${field}) || ${isAmount(`${GROUPS}.${field}`)}`,
      message: { cel: `${shownAmount(`${GROUPS}.${field}`)} + " is no amount"` },
      remedy: 'use a whole number from 0, or a percentage from 0% to 100%',
    }),
  ),
  {
    code: 'model-serving/rollout',
    field: `${groupsPath}.maxUnavailable`,
    holds: `${NO_GROUPS} || ${IS_ROLE_ROLLING} || !has(${AT_ONCE}) || !${isAmount(AT_ONCE)} || ${amountOf(AT_ONCE, `${SPEC}.replicas`)} != 0`,
    message: { cel: `${shownAmount(AT_ONCE)} + " of " + string(${SPEC}.replicas) + " replicas is 0"` },
    remedy: 'allow at least one',
  },
];

const R_AT_ONCE = 'r.maxUnavailable';
const UNJUDGED = `!${IS_ROLE_ROLLING} || !has(${R_AT_ONCE}) || !${isAmount(R_AT_ONCE)}`;

const roleRolloutRules: readonly AdmissionRule[] = [
  {
    code: 'model-serving/rollout',
    field: 'spec.template.roles[].partition',
    holds: `${IS_ROLE_ROLLING} || !${ROLES}.exists(r, has(r.partition))`,
    message: 'only goes with RoleRollingUpdate',
    remedy: 'remove it, or set rolloutStrategy.type',
  },
  ...(['maxUnavailable', 'partition'] as const).map((field) =>
    roleRule(`spec.template.roles[].${field}`, `!${IS_ROLE_ROLLING} || !has(r.${field}) || ${isAmount(`r.${field}`)}`, {
      code: 'model-serving/amount',
      message: (r) => `${shownAmount(`${r}.${field}`)} + " is no amount"`,
      remedy: 'use a whole number from 0, or a percentage from 0% to 100%',
    }),
  ),
  roleRule('spec.template.roles[].maxUnavailable', `${UNJUDGED} || ${amountOf(R_AT_ONCE, 'r.replicas')} != 0`, {
    code: 'model-serving/rollout',
    message: (r) => `${shownAmount(`${r}.maxUnavailable`)} + " of " + string(${r}.replicas) + " replicas is 0"`,
    remedy: 'allow at least one',
  }),
  roleRule('spec.template.roles[].maxUnavailable', `${UNJUDGED} || ${amountOf(R_AT_ONCE, 'r.replicas')} <= r.replicas`, {
    code: 'model-serving/rollout',
    message: (r) =>
      `string(${amountOf(`${r}.maxUnavailable`, `${r}.replicas`)}) + " is more than the role's " + string(${r}.replicas) + " replicas"`,
    remedy: (r) => `"use at most " + string(${r}.replicas)`,
  }),
];

const GANG = `${SPEC}.template.gangPolicy.minRoleReplicas`;
const NO_GANG = `(!has(${SPEC}.template.gangPolicy) || !has(${GANG}))`;

/** A rule of each entry of the gang; `k` in it is the role. */
function gangRule(
  code: string,
  test: string,
  message: (key: string) => string,
  remedy: string | ((key: string) => string),
): AdmissionRule {
  const key = `${GANG}.filter(k, !(${test}))[0]`;
  return {
    code,
    field: 'spec.template.gangPolicy.minRoleReplicas.*',
    key,
    holds: `${NO_GANG} || ${GANG}.all(k, ${test})`,
    message: { cel: message(key) },
    remedy: typeof remedy === 'string' ? remedy : { cel: remedy(key) },
  };
}

const replicasOf = (key: string): string => `string(${ROLES}.filter(r, r.name == ${key})[0].replicas)`;

const gangRules: readonly AdmissionRule[] = [
  gangRule(
    'model-serving/gang',
    `${ROLES}.exists(r, r.name == k)`,
    (key) => `"there is no role " + ${shownInCel(key)}`,
    () => `"use one of " + ${ROLES}.map(r, r.name).join(", ")`,
  ),
  gangRule(
    'model-serving/gang',
    `!${ROLES}.exists(r, r.name == k && r.replicas < ${GANG}[k])`,
    (key) => `string(${GANG}[${key}]) + " is more than the role's " + ${replicasOf(key)} + " replicas"`,
    (key) => `"use at most " + ${replicasOf(key)}`,
  ),
  gangRule('model-serving/negative', `${GANG}[k] >= 0`, (key) => `string(${GANG}[${key}]) + " is negative"`, 'use 0 or more'),
];

/** Rules of ModelServing that its definition does not have. */
export const modelServingAdmission: readonly AdmissionRule[] = [
  ...amountRules,
  ...nameRules,
  ...imageRules,
  ...groupRolloutRules,
  ...roleRolloutRules,
  ...gangRules,
];
