import { fieldPath } from './field-path';
import type { ObjectMeta } from './meta';
import { isDnsLabel, isDnsSubdomain, isLabelKey, isLabelValue } from './names';
import { nearestName } from './nearest-name';
import { error, type Problem, shown } from './problem';

/** Fields of Kubernetes' ObjectMeta. */
const FIELDS: ReadonlySet<string> = new Set([
  'annotations',
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'finalizers',
  'generateName',
  'generation',
  'labels',
  'managedFields',
  'name',
  'namespace',
  'ownerReferences',
  'resourceVersion',
  'selfLink',
  'uid',
]);

/** The API server's rules for the metadata of a namespaced object. */
export function* metadataRules(metadata: ObjectMeta): Iterable<Problem> {
  const { name, namespace, labels, annotations } = metadata;
  for (const key of Object.keys(metadata)) {
    if (FIELDS.has(key)) continue;
    const nearest = nearestName(key, [...FIELDS]);
    yield error(
      fieldPath('metadata', key),
      'schema/unknown-field',
      `unknown field ${shown(key)}`,
      nearest === undefined ? 'remove it' : `did you mean "${nearest}"? Rename or remove it`,
    );
  }
  if (typeof name !== 'string' || name === '') yield error('metadata.name', 'metadata/name', 'missing', 'give the object a name');
  else if (!isDnsSubdomain(name)) {
    yield error('metadata.name', 'metadata/name', `${shown(name)} is no object name`, 'use lower-case letters, digits, - and .');
  }
  if (namespace !== undefined && !(typeof namespace === 'string' && isDnsLabel(namespace))) {
    yield error(
      'metadata.namespace',
      'metadata/namespace',
      `${shown(namespace)} is no namespace`,
      'use lower-case letters, digits and -',
    );
  }
  yield* labelRules(labels, 'metadata.labels');
  if (!isMap(annotations)) yield noMap(annotations, 'metadata.annotations');
  else
    for (const [key, value] of Object.entries(annotations ?? {})) {
      if (typeof value !== 'string') {
        const field = fieldPath('metadata.annotations', key);
        yield error(field, 'metadata/annotation', `${shown(value)} is no string`, 'put the value in quotes');
      }
    }
}

/** The API server's rules for labels. */
export function* labelRules(labels: Readonly<Record<string, unknown>> | undefined, path: string): Iterable<Problem> {
  if (!isMap(labels)) {
    yield noMap(labels, path);
    return;
  }
  for (const [key, value] of Object.entries(labels ?? {})) {
    if (isLabelKey(key) && typeof value === 'string' && isLabelValue(value)) continue;
    const field = fieldPath(path, key);
    if (!isLabelKey(key))
      yield error(field, 'metadata/label', `${shown(key)} is no label key`, 'use [domain/]name of letters, digits, -, _ and .');
    if (typeof value !== 'string')
      yield error(field, 'metadata/label', `${shown(value)} is no string`, 'put the value in quotes');
    else if (!isLabelValue(value)) {
      yield error(field, 'metadata/label', `${shown(value)} is no label value`, 'use at most 63 letters, digits, -, _ and .');
    }
  }
}

const isMap = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && !Array.isArray(value));

const noMap = (value: unknown, path: string): Problem =>
  error(
    path,
    path.endsWith('annotations') ? 'metadata/annotation' : 'metadata/label',
    `${shown(value)} is no map`,
    'write key: value',
  );
