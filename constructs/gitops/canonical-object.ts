import { canonicalQuantity, parseQuantity } from '../../src/quantity';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/** Parts of an object that hold people's text, never fields of the API. */
const OPAQUE = new Set(['data', 'stringData', 'binaryData', 'annotations', 'labels', 'openAPIV3Schema']);
/** Maps of quantities, by the key that they stand under. */
const QUANTITY_MAPS = new Set(['limits', 'requests', 'minResources', 'hard', 'overhead']);
/** Single quantities, by their key. */
const QUANTITIES = new Set(['sizeLimit', 'targetValue']);

/**
 * Rewrites `object` in place as controllers store it, so that a second sync shows no difference: quantities as canonical strings (the
 * webhooks of LWS and Volcano rewrite others), and `protocol: TCP` on ports (a CRD default inside an atomic list shows as a difference
 * for ever under server-side apply).
 *
 * @returns `object`
 */
export function canonicalize<T extends object>(object: T): T {
  visit(object as unknown as JsonObject, (object as { kind?: unknown }).kind === 'Service');
  return object;
}

function visit(node: JsonObject, isService: boolean): void {
  for (const key of Object.keys(node)) {
    const value = node[key];
    if (typeof value !== 'object' && !QUANTITIES.has(key)) continue;
    if (value === null || OPAQUE.has(key)) continue;
    if (QUANTITIES.has(key) && isQuantity(value)) {
      node[key] = canonicalQuantity(value);
    } else if (Array.isArray(value)) {
      for (const element of value) {
        if (!isObject(element)) continue;
        if (key === 'ports' && ('containerPort' in element || (isService && 'port' in element))) element.protocol ??= 'TCP';
        visit(element, isService);
      }
    } else if (isObject(value)) {
      if (QUANTITY_MAPS.has(key) && Object.values(value).every(isQuantity)) {
        for (const [name, quantity] of Object.entries(value)) value[name] = canonicalQuantity(quantity as string | number);
      } else {
        visit(value, isService);
      }
    }
  }
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isQuantity(value: Json | undefined): value is string | number {
  return (typeof value === 'string' || typeof value === 'number') && parseQuantity(value) !== undefined;
}
