import type { KubeObject } from '../api/meta';
import { error } from '../api/problem';
import type { Finding } from '../errors';
import { type CheckedObject, ObjectSet } from './object-set';
import { routingReferences } from './routing-references';
import { scalingReferences } from './scaling-references';

/**
 * What is wrong between objects that are each valid: references to nothing, two objects or scalers where one belongs, pods that no
 * workload makes. Objects that are not given count as absent, so give all of a cluster or of a repository at once.
 *
 * @param checked objects of our kinds decoded by `decodeObject`, everything else as it is.
 */
export function checkReferences(checked: readonly CheckedObject[]): readonly Finding[] {
  const set = new ObjectSet(checked);
  return [...duplicates(set), ...routingReferences(set), ...scalingReferences(set)];
}

function* duplicates(set: ObjectSet): Iterable<Finding> {
  for (const object of set.objects) {
    const first = set.find(object.apiVersion, object.kind, object.metadata.namespace ?? 'default', object.metadata.name);
    if (first === undefined || first === object) continue;
    yield set.finding(
      object,
      error(
        'metadata.name',
        'references/duplicate',
        `the same object is also ${placeOf(first, set)}`,
        'rename or remove one of them',
      ),
    );
  }
}

const placeOf = (object: KubeObject, set: ObjectSet): string => {
  const file = set.fileOf(object);
  return file === undefined ? 'given a first time' : `in ${file}`;
};
