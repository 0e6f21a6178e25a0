/** Part of a pod spec, as far as checks look at it. */
export interface FoundPodSpec {
  /** Dotted path of the pod spec in its object. */
  readonly field: string;
  readonly containers: readonly { readonly field: string; readonly image: string }[];
}

/** Every pod spec anywhere in `object`: in workloads of any kind, ours or foreign. */
export function podSpecs(object: object): readonly FoundPodSpec[] {
  const found: FoundPodSpec[] = [];
  visit(object, '', found);
  return found;
}

function visit(value: unknown, field: string, found: FoundPodSpec[]): void {
  if (Array.isArray(value)) {
    value.forEach((element, index) => {
      visit(element, `${field}[${index}]`, found);
    });
  } else if (typeof value === 'object' && value !== null) {
    const fields = value as Readonly<Record<string, unknown>>;
    if (Array.isArray(fields.containers)) found.push({ field, containers: containersOf(fields, field) });
    for (const [key, child] of Object.entries(fields)) {
      // Schemas of kinds describe pods and have none.
      if (key !== 'openAPIV3Schema') visit(child, field === '' ? key : `${field}.${key}`, found);
    }
  }
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
