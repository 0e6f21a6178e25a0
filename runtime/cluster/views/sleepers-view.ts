import { selects } from '../../../src/api/meta';
import type { ModelServer } from '../../../src/api/model-server';
import { WORKLOAD_KINDS } from '../../../src/expand/expand-workload';
import type { ObjectSource } from '../object-source';
import type { Sleeper } from '../wake-signal';
import type { WorkloadPods } from './workload-pods';

/** Workloads of a source whose pods a ModelServer selects. */
export class SleepersView {
  constructor(
    private readonly source: ObjectSource,
    private readonly workloads: WorkloadPods,
  ) {}

  of({ metadata, spec }: ModelServer): readonly Sleeper[] {
    const namespace = metadata.namespace ?? 'default';
    const { matchLabels } = spec.workloadSelector;
    if (matchLabels === undefined || Object.keys(matchLabels).length === 0) return [];
    return WORKLOAD_KINDS.flatMap((workloadKind) => [...this.source.list(workloadKind)]).flatMap((object): readonly Sleeper[] => {
      if ((object.metadata.namespace ?? 'default') !== namespace) return [];
      const { pods, isAsleep } = this.workloads.plannedOf(object);
      if (!pods.some((pod) => selects({ matchLabels }, pod.metadata.labels))) return [];
      const { apiVersion, kind } = object;
      return [{ target: { apiVersion, kind, namespace, name: object.metadata.name }, uid: object.metadata.uid!, isAsleep }];
    });
  }
}
