import type { PodTemplate } from './pod-template';

/** Lists whose elements are told apart by a field, as in a strategic merge patch. Elements of other lists are added. */
const LIST_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  volumes: 'name',
  env: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  ports: 'containerPort',
  topologySpreadConstraints: 'topologyKey',
  hostAliases: 'ip',
  imagePullSecrets: 'name',
};
/** Lists of words that only make sense as a whole. */
const WHOLE_LISTS = new Set(['command', 'args']);

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

/** Part of a pod spec as JSON, any field of any Kubernetes version. `null` removes a field. */
export type PodPatch = { readonly [field: string]: unknown };

/**
 * What a user adds to pods that Kvasir built. Applied before anything reads the pods (hash, bill, checks), and the same for every
 * workload engine.
 *
 * @example
 * qwen.pools.h100.pod
 *   .merge({ tolerations: [{ key: 'team', operator: 'Equal', value: 'a' }] })
 *   .merge({ containers: [{ name: 'engine', env: [{ name: 'HTTPS_PROXY', value: 'http://proxy.example.com:3128' }] }] })
 *   .addLabel('team', 'a');
 */
export class PodOverride {
  private readonly patches: JsonObject[] = [];
  private readonly labels: Record<string, string> = {};
  private readonly annotations: Record<string, string> = {};

  /**
   * Merges `patch` into the pod spec. Objects merge field by field; containers, volumes and environment variables by name, ports by
   * containerPort, mounts by mountPath; elements of other lists (tolerations) are added; `command` and `args` are replaced; `null`
   * removes.
   */
  merge(patch: PodPatch): this {
    // Not structuredClone: under jest its objects are of another realm, whose `{ name, value }` cdk8s takes for a union type.
    this.patches.push(JSON.parse(JSON.stringify(patch)) as JsonObject);
    return this;
  }

  addLabel(name: string, value: string): this {
    this.labels[name] = value;
    return this;
  }

  addAnnotation(name: string, value: string): this {
    this.annotations[name] = value;
    return this;
  }

  /** `template` with everything that was added. */
  apply(template: PodTemplate): PodTemplate {
    return {
      metadata: {
        labels: { ...template.metadata.labels, ...this.labels },
        annotations: { ...template.metadata.annotations, ...this.annotations },
      },
      spec: this.patches.reduce<JsonObject>(
        mergeObjects,
        template.spec as unknown as JsonObject,
      ) as unknown as PodTemplate['spec'],
    };
  }
}

function mergeObjects(base: JsonObject, patch: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    const present = merged[key];
    if (value === null) {
      delete merged[key];
    } else if (isList(value) && isList(present) && !WHOLE_LISTS.has(key)) {
      merged[key] = mergeLists(present, value, LIST_KEYS[key]);
    } else if (isObject(value)) {
      merged[key] = mergeObjects(isObject(present) ? present : {}, value);
    } else {
      merged[key] = value;
    }
  }
  return merged;
}

function mergeLists(base: readonly Json[], patch: readonly Json[], keyField: string | undefined): readonly Json[] {
  const merged = [...base];
  for (const element of patch) {
    const at = merged.findIndex((present) =>
      keyField !== undefined && isObject(present) && isObject(element)
        ? present[keyField] === element[keyField]
        : JSON.stringify(present) === JSON.stringify(element),
    );
    const present = merged[at];
    if (present === undefined) merged.push(element);
    else if (isObject(present) && isObject(element)) merged[at] = mergeObjects(present, element);
  }
  return merged;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
