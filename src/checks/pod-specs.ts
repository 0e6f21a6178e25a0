import type { KubeObject } from '../api/meta';
import { NETWORKING_API_VERSION, WORKLOAD_API_VERSION } from '../labels';

/** Part of a pod spec, as far as checks look at it. */
export interface FoundPodSpec {
  /** Dotted path of the pod spec in its object. */
  readonly field: string;
  readonly containers: readonly { readonly field: string; readonly image: string }[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Every pod spec anywhere in `object`: in workloads of any kind, ours or foreign. */
export function podSpecs(object: KubeObject): readonly FoundPodSpec[] {
  const found: FoundPodSpec[] = [];
  const known = KNOWN_KINDS.get(object.kind);
  if (known?.apiVersion !== object.apiVersion) visit(object, [], found);
  else if (known.podSpec !== undefined) addAt(object, known.podSpec, found);
  return found;
}

interface KnownKind {
  readonly apiVersion: string;
  /** Path of the one pod spec; undefined where there is none. */
  readonly podSpec: readonly string[] | undefined;
}

/** Kinds that are most of a folder: to search them all through costs as much as several other checks. */
const KNOWN_KINDS: ReadonlyMap<string, KnownKind> = new Map<string, KnownKind>([
  ...['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet'].map(
    (kind) => [kind, { apiVersion: 'apps/v1', podSpec: ['spec', 'template', 'spec'] }] as const,
  ),
  ...['ModelRoute', 'ModelServer', 'ExternalModelProvider'].map(
    (kind) => [kind, { apiVersion: NETWORKING_API_VERSION, podSpec: undefined }] as const,
  ),
  ['AutoscalingPolicy', { apiVersion: WORKLOAD_API_VERSION, podSpec: undefined }],
  ['PodDisruptionBudget', { apiVersion: 'policy/v1', podSpec: undefined }],
  ['Service', { apiVersion: 'v1', podSpec: undefined }],
]);

function addAt(object: KubeObject, path: readonly string[], found: FoundPodSpec[]): void {
  let at: unknown = object;
  for (const key of path) at = (at as Fields | null | undefined)?.[key];
  if (typeof at === 'object' && at !== null) addPodSpec(at as Fields, path, found);
}

/** @param path keys and indices that lead to `value`: a text of them is only made where a pod spec is found. */
function visit(value: object, path: (string | number)[], found: FoundPodSpec[]): void {
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const element: unknown = value[index];
      if (typeof element === 'object' && element !== null) visitChild(element, index, path, found);
    }
    return;
  }
  const fields = value as Fields;
  addPodSpec(fields, path, found);
  for (const key of Object.keys(fields)) {
    const child = fields[key];
    if (typeof child === 'object' && child !== null && !WITHOUT_PODS.has(key)) visitChild(child, key, path, found);
  }
}

function addPodSpec(fields: Fields, path: readonly (string | number)[], found: FoundPodSpec[]): void {
  if (!Array.isArray(fields.containers)) return;
  const field = fieldOf(path);
  found.push({ field, containers: containersOf(fields, field) });
}

/** Schemas of kinds describe pods and have none; metadata is most of a small object. */
const WITHOUT_PODS: ReadonlySet<string> = new Set(['openAPIV3Schema', 'metadata']);

function visitChild(value: object, step: string | number, path: (string | number)[], found: FoundPodSpec[]): void {
  path.push(step);
  visit(value, path, found);
  path.pop();
}

function fieldOf(path: readonly (string | number)[]): string {
  return path.map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`)).join('');
}

function containersOf(podSpec: Fields, field: string): FoundPodSpec['containers'] {
  return ['initContainers', 'containers'].flatMap((list) => {
    const containers = podSpec[list];
    if (!Array.isArray(containers)) return [];
    return containers.flatMap((container: unknown, index) => {
      const image = (container as { readonly image?: unknown } | null)?.image;
      return typeof image === 'string' ? [{ field: `${field}.${list}[${index}].image`, image }] : [];
    });
  });
}
