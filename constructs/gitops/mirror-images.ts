import { type ImageSettings, mirroredImage } from '../images';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/** Lists whose elements carry `image`: those of pods, and the workers of Kthena's ModelBooster. */
const CONTAINER_LISTS = new Set(['containers', 'initContainers', 'ephemeralContainers', 'workers']);
/** Schemas of kinds describe pods and have none. */
const OPAQUE = new Set(['openAPIV3Schema', 'data', 'annotations', 'labels']);

/**
 * Rewrites every image of `object` in place as `settings.mirrors` says, whoever made the object: containers of all sorts, image volumes,
 * and the workers of a ModelBooster.
 *
 * @returns `object`
 */
export function mirrorImages<T extends object>(object: T, settings: ImageSettings): T {
  if (Object.keys(settings.mirrors ?? {}).length > 0) visit(object as unknown as JsonObject, settings);
  return object;
}

function visit(node: JsonObject, settings: ImageSettings): void {
  for (const [key, value] of Object.entries(node)) {
    if (OPAQUE.has(key)) continue;
    if (Array.isArray(value)) {
      for (const element of value) {
        if (!isObject(element)) continue;
        if (CONTAINER_LISTS.has(key)) rewrite(element, 'image', settings);
        if (key === 'volumes' && isObject(element.image)) rewrite(element.image, 'reference', settings);
        visit(element, settings);
      }
    } else if (isObject(value)) {
      visit(value, settings);
    }
  }
}

function rewrite(node: JsonObject, field: string, settings: ImageSettings): void {
  const image = node[field];
  if (typeof image === 'string' && image !== '') node[field] = mirroredImage(image, settings);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
