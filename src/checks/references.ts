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
  return referenceFindings(new ObjectSet(checked));
}

/** As `checkReferences`, for a set that is already there. */
export function referenceFindings(set: ObjectSet): readonly Finding[] {
  return [...duplicates(set), ...routingReferences(set), ...scalingReferences(set)];
}

function* duplicates(set: ObjectSet): Iterable<Finding> {
  for (const { object, first } of set.duplicates) {
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
