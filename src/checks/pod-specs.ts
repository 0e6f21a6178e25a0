/** Part of a pod spec, as far as checks look at it. */
export interface FoundPodSpec {
  /** Dotted path of the pod spec in its object. */
  readonly field: string;
  readonly containers: readonly { readonly field: string; readonly image: string }[];
}

/** Every pod spec anywhere in `object`: in workloads of any kind, ours or foreign. */
export function podSpecs(object: object): readonly FoundPodSpec[] {
  const found: FoundPodSpec[] = [];
  visit(object, [], found);
  return found;
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
  const fields = value as Readonly<Record<string, unknown>>;
  if (Array.isArray(fields.containers)) {
    const field = fieldOf(path);
    found.push({ field, containers: containersOf(fields, field) });
  }
  for (const key of Object.keys(fields)) {
    const child = fields[key];
    if (typeof child === 'object' && child !== null && !WITHOUT_PODS.has(key)) visitChild(child, key, path, found);
  }
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

function containersOf(podSpec: Readonly<Record<string, unknown>>, field: string): FoundPodSpec['containers'] {
  return ['initContainers', 'containers'].flatMap((list) => {
    const containers = podSpec[list];
    if (!Array.isArray(containers)) return [];
    return containers.flatMap((container: unknown, index) => {
      const image = (container as { readonly image?: unknown } | null)?.image;
      return typeof image === 'string' ? [{ field: `${field}.${list}[${index}].image`, image }] : [];
    });
  });
}
