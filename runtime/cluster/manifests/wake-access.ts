import { type KubeObject, selects } from '../../../src/api/meta';
import type { ModelServer } from '../../../src/api/model-server';
import { workloadKindOf } from '../../../src/expand/expand-workload';
import type { Clock } from '../../lib/clock';
import type { WriteOutcome } from '../outcome';
import { type Sleeper, WAKE_LEASE_SECONDS, type WakeSignal, wakeLeaseName } from '../wake-signal';
import { type ObjectStore, refOf } from './object-store';
import type { WorkloadPods } from './workload-pods';

/** Wake leases of the workloads in the store. */
export class WakeAccess implements WakeSignal {
  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
    private readonly workloads: WorkloadPods,
  ) {}

  sleepersOf({ metadata, spec }: ModelServer): readonly Sleeper[] {
    const namespace = metadata.namespace ?? 'default';
    const { matchLabels } = spec.workloadSelector;
    if (matchLabels === undefined || Object.keys(matchLabels).length === 0) return [];
    return this.store.all().flatMap((object): readonly Sleeper[] => {
      if (workloadKindOf(object) === undefined || (object.metadata.namespace ?? 'default') !== namespace) return [];
      const { pods, isAsleep } = this.workloads.plannedOf(object);
      if (!pods.some((pod) => selects({ matchLabels }, pod.metadata.labels))) return [];
      const { apiVersion, kind } = object;
      return [{ target: { apiVersion, kind, namespace, name: object.metadata.name }, uid: object.metadata.uid!, isAsleep }];
    });
  }

  async wake({ target, uid }: Sleeper): Promise<WriteOutcome> {
    const renewTime = new Date(this.clock.now()).toISOString().replace(/Z$/, '000Z');
    const lease: KubeObject & { readonly spec: object } = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: wakeLeaseName(uid),
        namespace: target.namespace,
        ownerReferences: [{ apiVersion: target.apiVersion, kind: target.kind, name: target.name, uid }],
      },
      spec: { leaseDurationSeconds: WAKE_LEASE_SECONDS, renewTime },
    };
    const before = this.store.get(refOf(lease));
    const stored = before === undefined ? this.store.create(lease) : this.store.update(before, lease);
    return { kind: stored === before ? 'unchanged' : 'applied', version: stored.metadata.resourceVersion! };
  }
}
