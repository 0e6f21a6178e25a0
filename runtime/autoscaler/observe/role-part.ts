import { selects } from '../../../src/api/meta';
import { Labels } from '../../../src/labels';
import type { Objects } from '../../cluster/objects';
import type { Workloads } from '../../cluster/workloads';
import type { RequestPart } from '../decide/capacity/request-part';
import type { PolicyUnit } from '../policy';
import { serversOf } from './rest';

/**
 * What pods of a role do of each request, as the router takes it: by the labels that a ModelServer tells prefill and decode pods apart by,
 * and where none does, by the role's name, as Kthena's own manifests have it.
 *
 * @returns undefined when neither tells.
 */
export function rolePart(
  unit: PolicyUnit,
  view: { readonly objects: Objects; readonly workloadPods: Workloads },
): RequestPart | undefined {
  const template = view.workloadPods
    .podsOf(unit.target)
    .find(({ metadata }) => metadata.labels?.[Labels.modelServingRole] === unit.role);
  for (const { spec } of serversOf(unit, view)) {
    const { pdGroup } = spec.workloadSelector;
    if (pdGroup === undefined) continue;
    const isPart = (matchLabels: Readonly<Record<string, string>>): boolean =>
      selects({ matchLabels }, template?.metadata.labels);
    const isPrefill = isPart(pdGroup.prefillLabels);
    if (isPrefill !== isPart(pdGroup.decodeLabels)) return isPrefill ? 'prefill' : 'decode';
  }
  return unit.role === 'prefill' || unit.role === 'decode' ? unit.role : undefined;
}
