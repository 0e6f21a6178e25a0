import { Lazy } from 'cdk8s';

/** What cannot be written without cdk8s' own resolution: tokens, unions of number and string, objects of a class. */
export const UNRESOLVED = Symbol('unresolved');

/**
 * `value` as cdk8s renders it, with keys sorted, absent fields left out and lazy values produced, several times faster: cdk8s makes a
 * context for each value and looks the app up for it.
 *
 * @returns `UNRESOLVED` as soon as something in it needs more than that.
 */
export function plainJson(value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'function') return UNRESOLVED;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return plainList(value);
  if (value instanceof Lazy) return plainJson(value.produce());
  return value.constructor === Object ? plainMap(value as Readonly<Record<string, unknown>>) : UNRESOLVED;
}

function plainList(elements: readonly unknown[]): unknown {
  const list: unknown[] = [];
  for (const element of elements) {
    const plain = typeof element === 'string' ? element : plainJson(element);
    if (plain === UNRESOLVED) return UNRESOLVED;
    list.push(plain);
  }
  return list;
}

function plainMap(fields: Readonly<Record<string, unknown>>): unknown {
  const map: Record<string, unknown> = {};
  for (const key of sortedKeys(fields)) {
    const value = fields[key];
    // A function among them has cdk8s resolve the whole map, if it is called so.
    const plain = typeof value === 'string' ? value : plainJson(value);
    if (plain === UNRESOLVED) return UNRESOLVED;
    if (plain !== undefined) map[key] = plain;
  }
  return map;
}

/** Maps with more keys than this are left to the engine's sort, whose working memory is more than a small map. */
const FEW_KEYS = 24;

/** By insertion: most maps are small, and in order or nearly so. */
function sortedKeys(fields: object): readonly string[] {
  const keys = Object.keys(fields);
  if (keys.length > FEW_KEYS) return keys.sort();
  for (let i = 1; i < keys.length; i += 1) {
    const key = keys[i]!;
    let at = i;
    for (; at > 0 && keys[at - 1]! > key; at -= 1) keys[at] = keys[at - 1]!;
    keys[at] = key;
  }
  return keys;
}
