import { fieldPath } from './field-path';
import type { ModelServing, PodTemplate, ServingRole } from './model-serving';
import { isDns1035Label } from './names';
import type { Container } from './pod';
import { error, type Problem, shown } from './problem';

/** What Kthena's CEL rule and webhook ask of a ModelServing. */
export function* modelServingRules(serving: ModelServing): Iterable<Problem> {
  const { metadata, spec } = serving;
  const { roles } = spec.template;
  const isRoleRolling = spec.rolloutStrategy?.type === 'RoleRollingUpdate';
  if (spec.replicas < 0) yield negative('spec.replicas', spec.replicas);
  const names = new Set<string>();
  for (const [i, role] of roles.entries()) {
    const path = `spec.template.roles[${i}]`;
    if (names.has(role.name))
      yield error(`${path}.name`, 'model-serving/duplicate-role', `a second role ${shown(role.name)}`, 'rename it');
    names.add(role.name);
    const podName = `${metadata.name}-${spec.replicas}-${role.name}-${role.replicas}-${role.workerReplicas}`;
    if (isDns1035Label(role.name) && !isDns1035Label(podName)) {
      yield error(
        'metadata.name',
        'model-serving/name',
        `pods of role ${role.name} would be named like ${shown(podName)}`,
        'use a name that begins with a letter and leaves pod names at most 63 characters',
      );
    }
    yield* roleRules(role, path, isRoleRolling);
  }
  yield* rolloutRules(serving);
  for (const [role, least] of Object.entries(spec.template.gangPolicy?.minRoleReplicas ?? {})) {
    const field = fieldPath('spec.template.gangPolicy.minRoleReplicas', role);
    const replicas = roles.find(({ name }) => name === role)?.replicas;
    if (replicas === undefined)
      yield error(field, 'model-serving/gang', `there is no role ${shown(role)}`, `use one of ${[...names].join(', ')}`);
    else if (least > replicas)
      yield error(
        field,
        'model-serving/gang',
        `${least} is more than the role's ${replicas} replicas`,
        `use at most ${replicas}`,
      );
    if (least < 0) yield negative(field, least);
  }
}

function* rolloutRules({ spec }: ModelServing): Iterable<Problem> {
  const { rolloutStrategy: strategy, recoveryPolicy, replicas } = spec;
  const isRoleRolling = strategy?.type === 'RoleRollingUpdate';
  if (isRoleRolling && recoveryPolicy === 'ServingGroupRecreate') {
    yield error(
      'spec.recoveryPolicy',
      'model-serving/recovery',
      'ServingGroupRecreate does not go with RoleRollingUpdate',
      'use RoleRecreate',
    );
  }
  const config = strategy?.rollingUpdateConfiguration;
  if (config === undefined) return;
  const path = 'spec.rolloutStrategy.rollingUpdateConfiguration';
  if (isRoleRolling) {
    yield error(
      path,
      'model-serving/rollout',
      'only goes with ServingGroupRollingUpdate',
      "set the role's maxUnavailable and partition instead",
    );
    return;
  }
  yield* amountRules(config.maxUnavailable, `${path}.maxUnavailable`);
  if (config.partition !== undefined) yield* amountRules(config.partition, `${path}.partition`);
  if (resolved(config.maxUnavailable, replicas) === 0) {
    yield error(
      `${path}.maxUnavailable`,
      'model-serving/rollout',
      `${shown(config.maxUnavailable)} of ${replicas} replicas is 0`,
      'allow at least one',
    );
  }
}

function* roleRules(role: ServingRole, path: string, isRoleRolling: boolean): Iterable<Problem> {
  if (!isDns1035Label(role.name)) {
    yield error(
      `${path}.name`,
      'model-serving/role-name',
      `${shown(role.name)} is no name for pods`,
      'use lower-case letters, digits and -, a letter first',
    );
  }
  if (role.replicas < 0) yield negative(`${path}.replicas`, role.replicas);
  if (role.workerReplicas < 0) yield negative(`${path}.workerReplicas`, role.workerReplicas);
  if (role.workerReplicas > 0 && role.workerTemplate === undefined) {
    yield error(
      `${path}.workerTemplate`,
      'model-serving/worker-template',
      `missing, and there are ${role.workerReplicas} workers`,
      'say what the workers are',
    );
  }
  yield* templateRules(role.entryTemplate, `${path}.entryTemplate`);
  if (role.workerTemplate !== undefined) yield* templateRules(role.workerTemplate, `${path}.workerTemplate`);
  if (!isRoleRolling) {
    if (role.partition !== undefined) {
      yield error(
        `${path}.partition`,
        'model-serving/rollout',
        'only goes with RoleRollingUpdate',
        'remove it, or set rolloutStrategy.type',
      );
    }
    return;
  }
  yield* amountRules(role.maxUnavailable, `${path}.maxUnavailable`);
  if (role.partition !== undefined) yield* amountRules(role.partition, `${path}.partition`);
  const unavailable = resolved(role.maxUnavailable, role.replicas);
  if (unavailable === 0)
    yield error(
      `${path}.maxUnavailable`,
      'model-serving/rollout',
      `${shown(role.maxUnavailable)} of ${role.replicas} replicas is 0`,
      'allow at least one',
    );
  else if (unavailable !== undefined && unavailable > role.replicas) {
    yield error(
      `${path}.maxUnavailable`,
      'model-serving/rollout',
      `${unavailable} is more than the role's ${role.replicas} replicas`,
      `use at most ${role.replicas}`,
    );
  }
}

function* templateRules({ spec }: PodTemplate, path: string): Iterable<Problem> {
  const containers: readonly Container[] = Array.isArray(spec?.containers) ? spec.containers : [];
  for (const [i, { image, env }] of containers.entries()) {
    const at = `${path}.spec.containers[${i}]`;
    if (typeof image === 'string' && image !== '' && (image.trim() === '' || image.includes(' '))) {
      yield error(`${at}.image`, 'model-serving/image', `${shown(image)} has spaces`, 'write the image without spaces');
    }
    const names = new Set<string>();
    for (const [j, { name }] of (env ?? []).entries()) {
      if (names.has(name))
        yield error(`${at}.env[${j}]`, 'schema/duplicate', `a second variable ${shown(name)}`, 'remove one of them');
      names.add(name);
    }
  }
}

const negative = (field: string, value: number): Problem =>
  error(field, 'model-serving/negative', `${value} is negative`, 'use 0 or more');

const PERCENT = /^[0-9]+%$/;

function* amountRules(amount: number | string, field: string): Iterable<Problem> {
  const isFine = typeof amount === 'number' ? amount >= 0 : PERCENT.test(amount) && Number.parseInt(amount, 10) <= 100;
  if (!isFine)
    yield error(
      field,
      'model-serving/amount',
      `${shown(amount)} is no amount`,
      'use a whole number from 0, or a percentage from 0% to 100%',
    );
}

/** Percentages of unavailable replicas are rounded down. */
function resolved(amount: number | string, replicas: number): number | undefined {
  if (typeof amount === 'number') return amount;
  return PERCENT.test(amount) ? Math.floor((Number.parseInt(amount, 10) * replicas) / 100) : undefined;
}
