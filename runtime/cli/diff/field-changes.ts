import { isDeepStrictEqual } from 'node:util';
import { alignedElements } from './aligned-elements';

/** A field that is not the same any more. */
export interface FieldChange {
  /** Dotted path; elements of a list by their `name` where each has its own, such as `spec.containers[engine].image`. */
  readonly field: string;
  /** Undefined when the field is new. */
  readonly before: unknown;
  /** Undefined when the field is gone. */
  readonly after: unknown;
}

/** Every field in which two objects differ, as deep as they can be compared, in the order of the first and then of the second. */
export function fieldChanges(before: unknown, after: unknown): readonly FieldChange[] {
  return compare(before, after, '');
}

function compare(before: unknown, after: unknown, field: string): readonly FieldChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (isMap(before) && isMap(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => compare(before[key], after[key], member(field, key)));
  }
  if (Array.isArray(before) && Array.isArray(after)) return compareLists(before, after, field);
  return [{ field, before, after }];
}

function compareLists(before: readonly unknown[], after: readonly unknown[], field: string): readonly FieldChange[] {
  const [old, now] = [byName(before), byName(after)];
  if (old === undefined || now === undefined) return compareInOrder(before, after, field);
  const names = [...new Set([...old.keys(), ...now.keys()])];
  const changes = names.flatMap((name) => compare(old.get(name), now.get(name), `${field}[${name}]`));
  // The same elements in another order.
  return changes.length > 0 ? changes : [{ field, before: [...old.keys()], after: [...now.keys()] }];
}

/** Elements that both lists have in the same order are the same; between two such, elements are compared one by one. */
function compareInOrder(before: readonly unknown[], after: readonly unknown[], field: string): readonly FieldChange[] {
  const changes: FieldChange[] = [];
  let [i, j] = [0, 0];
  for (const [nextI, nextJ] of [...alignedElements(before, after), [before.length, after.length] as const]) {
    for (; i < nextI && j < nextJ; i++, j++) changes.push(...compare(before[i], after[j], `${field}[${j}]`));
    for (; i < nextI; i++) changes.push({ field: `${field}[${i}]`, before: before[i], after: undefined });
    for (; j < nextJ; j++) changes.push({ field: `${field}[${j}]`, before: undefined, after: after[j] });
    [i, j] = [nextI + 1, nextJ + 1];
  }
  return changes;
}

/** Elements by name; undefined when they cannot be told apart by it. */
function byName(list: readonly unknown[]): ReadonlyMap<string, unknown> | undefined {
  const named = new Map<string, unknown>();
  for (const element of list) {
    const name = isMap(element) ? element.name : undefined;
    if (typeof name !== 'string' || named.has(name)) return undefined;
    named.set(name, element);
  }
  return named;
}

function member(field: string, key: string): string {
  if (/^[\w-]+$/.test(key)) return field === '' ? key : `${field}.${key}`;
  return `${field}[${JSON.stringify(key)}]`;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
