import { type KubeObject, selects } from '../../../src/api/meta';
import type { ModelServer } from '../../../src/api/model-server';
import { expandWorkload, workloadKindOf } from '../../../src/expand/expand-workload';
import type { Clock } from '../../lib/clock';
import type { WriteOutcome } from '../outcome';
import { type Sleeper, type WakeSignal, wakeLeaseName } from '../wake-signal';
import { type ObjectStore, refOf } from './object-store';

interface Scalable extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly roles?: readonly { readonly replicas?: number }[] };
  };
}

/** What a workload's pods are like, and whether it asks for any. */
interface PodKinds {
  readonly labels: readonly Readonly<Record<string, string>>[];
  readonly isAsleep: boolean;
}

/** How long after its renewal a wake lease still says that somebody waits. */
const LEASE_SECONDS = 15;

/** Wake leases of the workloads in the store. */
export class WakeAccess implements WakeSignal {
  private readonly known = new WeakMap<KubeObject, PodKinds>();

  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
  ) {}

  sleepersOf({ metadata, spec }: ModelServer): readonly Sleeper[] {
    const namespace = metadata.namespace ?? 'default';
    const { matchLabels } = spec.workloadSelector;
    if (matchLabels === undefined || Object.keys(matchLabels).length === 0) return [];
    return this.store.all().flatMap((object): readonly Sleeper[] => {
      if (workloadKindOf(object) === undefined || (object.metadata.namespace ?? 'default') !== namespace) return [];
      const { labels, isAsleep } = this.podsOf(object);
      if (!labels.some((each) => selects({ matchLabels }, each))) return [];
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
      spec: { leaseDurationSeconds: LEASE_SECONDS, renewTime },
    };
    const before = this.store.get(refOf(lease));
    const stored = before === undefined ? this.store.create(lease) : this.store.update(before, lease);
    return { kind: stored === before ? 'unchanged' : 'applied', version: stored.metadata.resourceVersion! };
  }

  private podsOf(object: KubeObject): PodKinds {
    let known = this.known.get(object);
    if (known === undefined) {
      const planned = expandWorkload(withPods(object))?.pods ?? [];
      known = {
        labels: planned.map(({ pod }) => pod.metadata.labels ?? {}),
        isAsleep: (expandWorkload(object)?.pods.length ?? 0) === 0,
      };
      this.known.set(object, known);
    }
    return known;
  }
}

/** A workload as if it asked for the least that has pods of every kind. */
function withPods(object: Scalable): KubeObject {
  const { spec } = object;
  const roles = spec?.template?.roles;
  const template =
    roles === undefined
      ? spec?.template
      : { ...spec?.template, roles: roles.map((role) => ({ ...role, replicas: Math.max(1, role.replicas ?? 1) })) };
  return {
    ...object,
    spec: { ...spec, replicas: Math.max(1, spec?.replicas ?? 1), ...(template && { template }) },
  } as KubeObject;
}
