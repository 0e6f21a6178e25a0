import { isDeepStrictEqual } from 'node:util';
import type { Finding } from '../errors';
import type { ApiObject } from './kinds';
import { describeObject } from './meta';
import type { ModelRoute } from './model-route';
import type { ModelServing } from './model-serving';
import { error, type Problem, shown } from './problem';

/**
 * What the API server would refuse when `before` becomes `after`: fields that must not change once they are set. Both are decoded
 * and of one kind and name; an object that is deleted and made anew may change everything.
 */
export function checkChange(before: ApiObject, after: ApiObject): readonly Finding[] {
  const problems: Problem[] = [];
  if (before.kind === 'ModelRoute' && after.kind === 'ModelRoute') problems.push(...routeChange(before, after));
  if (before.kind === 'ModelServing' && after.kind === 'ModelServing') problems.push(...servingChange(before, after));
  return problems.map((problem) => ({ object: describeObject(after), ...problem }));
}

/** Kubernetes skips a rule about a field that is added or removed. */
function* routeChange({ spec: before }: ModelRoute, { spec: after }: ModelRoute): Iterable<Problem> {
  if (before.modelName === undefined || after.modelName === undefined || before.modelName === after.modelName) return;
  yield error(
    'spec.modelName',
    'model-route/immutable',
    `${shown(before.modelName)} cannot become ${shown(after.modelName)}`,
    'make a new ModelRoute, or delete this one first',
  );
}

function* servingChange({ spec: before }: ModelServing, { spec: after }: ModelServing): Iterable<Problem> {
  const [old, now] = [before.template.gangPolicy, after.template.gangPolicy];
  if (old === undefined) return;
  if (now === undefined) {
    yield error(
      'spec.template.gangPolicy',
      'model-serving/immutable',
      'it was set and cannot be removed',
      'keep it; it may be empty',
    );
  } else if (
    old.minRoleReplicas !== undefined &&
    now.minRoleReplicas !== undefined &&
    !isDeepStrictEqual(old.minRoleReplicas, now.minRoleReplicas)
  ) {
    yield error(
      'spec.template.gangPolicy.minRoleReplicas',
      'model-serving/immutable',
      `${shown(old.minRoleReplicas)} cannot become ${shown(now.minRoleReplicas)}`,
      'keep it, or delete the ModelServing first',
    );
  }
}
