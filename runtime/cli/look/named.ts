import { keyOf } from '../../../src/api/meta';
import { nearestName } from '../../../src/api/nearest-name';
import { KvasirError } from '../../../src/errors';

/** Something with a name, in a namespace. */
export interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/**
 * What a person means by `name` or `namespace/name`.
 *
 * @param what the kind, for messages.
 * @throws KvasirError `cli/unknown-name` when there is none, with the nearest one; `cli/ambiguous-name` when several namespaces have one.
 */
export function named<T extends Named>(name: string, all: readonly T[], what: string, namespace: string | undefined): T {
  const inNamespace =
    namespace === undefined ? all : all.filter(({ metadata }) => (metadata.namespace ?? 'default') === namespace);
  const found = inNamespace.filter((each) => each.metadata.name === name || keyOf(each) === name);
  if (found.length === 1) return found[0]!;
  if (found.length > 1) {
    throw new KvasirError({
      code: 'cli/ambiguous-name',
      field: what,
      message: `${JSON.stringify(name)} is in several namespaces: ${found.map(keyOf).join(', ')}`,
      remedy: 'give -n, or namespace/name',
    });
  }
  throw unknownName(
    name,
    inNamespace.flatMap((each) => [each.metadata.name, keyOf(each)]),
    what,
    namespace,
  );
}

/** @param known every name that there is. */
export function unknownName(name: string, known: readonly string[], what: string, namespace?: string): KvasirError {
  const nearest = nearestName(name, known);
  const names = [...new Set(known.filter((each) => !each.includes('/')))].sort();
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  const remedy =
    nearest !== undefined
      ? `did you mean ${JSON.stringify(nearest)}?`
      : names.length === 0
        ? `there is no ${what} at all${where}`
        : `there ${names.length === 1 ? 'is' : 'are'} ${names.slice(0, 8).join(', ')}${names.length > 8 ? ', …' : ''}`;
  return new KvasirError({
    code: 'cli/unknown-name',
    field: what,
    message: `there is no ${JSON.stringify(name)}${where}`,
    remedy,
  });
}
