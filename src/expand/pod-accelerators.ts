import type { LabelSelectorRequirement } from '../api/meta';
import type { Pod } from '../api/pod';
import {
  ACCELERATOR_RESOURCES,
  ACCELERATORS,
  type Accelerator,
  acceleratorNamed,
  acceleratorOfNodeSelector,
} from '../catalog/accelerators';
import { Annotations } from '../labels';
import { parseQuantity } from '../quantity';

const KNOWN_RESOURCES: ReadonlySet<string> = new Set(ACCELERATOR_RESOURCES);
/** Extended resources of other vendors and clouds that count whole accelerators, such as `example.com/gpu` or `google.com/tpu`. */
const OTHER_RESOURCE = /^[^/]+\/(?:\w*gpu|npu|tpu|accelerator)$/i;

/** Accelerators of all containers together, from limits, else from requests. */
export function gpusOf(pod: Pick<Pod, 'spec'>): number {
  return pod.spec.containers.reduce((sum, { resources }) => {
    const asked = { ...resources?.requests, ...resources?.limits };
    const counts = Object.entries(asked).map(([name, amount]) =>
      KNOWN_RESOURCES.has(name) || OTHER_RESOURCE.test(name) ? (parseQuantity(amount) ?? 0) : 0,
    );
    return sum + counts.reduce((a, b) => a + b, 0);
  }, 0);
}

/**
 * The pod's accelerator in the catalogue: from its annotation, else from its node selector or required node affinity, else from a
 * resource that only one class of the catalogue has.
 */
export function acceleratorOf(pod: Pod): Accelerator | undefined {
  const annotated = pod.metadata.annotations?.[Annotations.accelerator];
  const named = annotated === undefined ? undefined : acceleratorNamed(annotated);
  return named ?? acceleratorOfNodeSelector(pod.spec.nodeSelector) ?? acceleratorOfAffinity(pod) ?? onlyOneWithResource(pod);
}

/** Kubernetes' node affinity, as far as it is read. */
interface WithNodeAffinity {
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: {
        readonly nodeSelectorTerms?: readonly { readonly matchExpressions?: readonly LabelSelectorRequirement[] }[];
      };
    };
  };
}

/** Of several accelerators that a pod may run on, the first that it names. */
function acceleratorOfAffinity(pod: Pod): Accelerator | undefined {
  const { affinity } = pod.spec as WithNodeAffinity;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  for (const { key, operator, values } of terms.flatMap(({ matchExpressions }) => matchExpressions ?? [])) {
    if (operator !== 'In') continue;
    for (const value of values ?? []) {
      const found = acceleratorOfNodeSelector({ [key]: value });
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function onlyOneWithResource(pod: Pod): Accelerator | undefined {
  const asked = new Set(
    pod.spec.containers.flatMap(({ resources }) => Object.keys({ ...resources?.requests, ...resources?.limits })),
  );
  if (asked.has('huawei.com/ascend-1980')) asked.add('huawei.com/Ascend910');
  const classes = ACCELERATORS.filter(({ resourceName }) => asked.has(resourceName));
  return classes.length === 1 ? classes[0] : undefined;
}
