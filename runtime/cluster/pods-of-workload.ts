import { type KubeObject, type LabelSelector, selects } from '../../src/api/meta';
import type { Pod } from '../../src/api/pod';
import { DisaggregatedLabels, LeaderWorkerLabels } from '../../src/expand/leader-worker-workload';
import { Labels } from '../../src/labels';
import type { TargetRef } from './scaling';

type Selecting = KubeObject & { readonly spec?: { readonly selector?: LabelSelector } };

/**
 * Whether a workload's controller makes this pod.
 *
 * @param deployment the Deployment itself, where the target is one and may be seen; without it its pods are known by their owner's name.
 */
export function isPodOf(
  { kind, namespace, name }: Pick<TargetRef, 'kind' | 'namespace' | 'name'>,
  pod: Pod,
  deployment?: KubeObject,
): boolean {
  const { labels, ownerReferences = [] } = pod.metadata;
  if ((pod.metadata.namespace ?? 'default') !== namespace) return false;
  switch (kind) {
    case 'ModelServing':
      return labels?.[Labels.modelServingName] === name;
    case 'LeaderWorkerSet':
      return labels?.[LeaderWorkerLabels.name] === name;
    case 'DisaggregatedSet':
      return labels?.[DisaggregatedLabels.name] === name;
    case 'Deployment': {
      const selector = (deployment as Selecting | undefined)?.spec?.selector;
      if (selector !== undefined) return selects(selector, labels);
      return ownerReferences.some((owner) => owner.kind === 'ReplicaSet' && owner.name.replace(/-[a-z0-9]+$/, '') === name);
    }
    default:
      return ownerReferences.some((owner) => owner.kind === kind && owner.name === name);
  }
}
