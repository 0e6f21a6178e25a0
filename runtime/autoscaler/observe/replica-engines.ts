import type { TargetRef } from '../../cluster/scaling';
import { poolEngine } from './pool-engine';

/**
 * How many engines that clients talk to one replica of a target has: several only where it is a serving group.
 *
 * @returns undefined when they are not alike, so that no one capacity is theirs.
 */
export function replicaEngines(target: TargetRef, view: Parameters<typeof poolEngine>[1]): number | undefined {
  const serving = target.kind === 'ModelServing' ? view.objects.get('ModelServing', target.namespace, target.name) : undefined;
  if (serving === undefined) return 1;
  const engines = serving.spec.template.roles.flatMap(({ name, replicas = 1 }) => {
    const engine = poolEngine(target, view, name);
    return engine === undefined ? [] : [{ revision: engine.revision, replicas }];
  });
  if (new Set(engines.map(({ revision }) => revision)).size > 1) return undefined;
  return Math.max(
    1,
    engines.reduce((sum, { replicas }) => sum + replicas, 0),
  );
}
