import type { AutoscalerCluster } from '../../runtime/cluster/cluster';
import type { Kind, KindMap, ObjectQuery } from '../../runtime/cluster/objects';
import type { WriteOutcome } from '../../runtime/cluster/outcome';
import type { Scale, TargetRef } from '../../runtime/cluster/scaling';
import type { KubeObject } from '../../src/api/meta';
import { selects } from '../../src/api/meta';
import type { Pod } from '../../src/api/pod';
import type { Finding } from '../../src/errors';
import { Annotations } from '../../src/labels';

/** A cluster in memory for the autoscaler: objects, replica counts with versions, and a record of everything written. */
export class FakeAutoscalerCluster implements AutoscalerCluster {
  readonly written: { readonly target: string; readonly replicas: number | Readonly<Record<string, number>> }[] = [];
  readonly notes: { readonly regarding: string; readonly type: string; readonly reason: string; readonly message: string }[] = [];
  readonly statuses: { readonly name: string; readonly status: Readonly<Record<string, unknown>> }[] = [];
  /** Age of the view of every kind. */
  ageMs = 0;
  isSynced = true;
  isLeader = true;
  /** What the next scale writes answer instead of writing. */
  readonly scaleAnswers: WriteOutcome[] = [];

  private readonly byKind = new Map<string, Map<string, KubeObject>>();
  private readonly scales = new Map<string, Scale>();
  private version = 1;

  put(...objects: readonly KubeObject[]): this {
    for (const object of objects) {
      const namespace = object.metadata.namespace ?? 'default';
      const uid = object.metadata.uid ?? `uid-${object.kind}-${object.metadata.name}`;
      const resourceVersion = String(this.version++);
      const stored = { ...object, metadata: { generation: 1, ...object.metadata, namespace, uid, resourceVersion } };
      const kind = this.byKind.get(object.kind) ?? new Map<string, KubeObject>();
      kind.set(`${namespace}/${object.metadata.name}`, stored);
      this.byKind.set(object.kind, kind);
    }
    return this;
  }

  remove(kind: Kind, namespace: string, name: string): void {
    this.byKind.get(kind)?.delete(`${namespace}/${name}`);
  }

  /** Makes or changes a scalable target. */
  target(
    kind: string,
    name: string,
    desired: number,
    selector: Readonly<Record<string, string>> = { app: name },
    uid = `uid-${name}`,
  ): this {
    const key = `${kind}/default/${name}`;
    this.scales.set(key, { uid, desired, actual: desired, selector, version: String(this.version++) });
    return this;
  }

  removeTarget(kind: string, name: string): void {
    this.scales.delete(`${kind}/default/${name}`);
  }

  replicas(kind: string, name: string): number | undefined {
    return this.scales.get(`${kind}/default/${name}`)?.desired;
  }

  /** The newest status of a policy. */
  statusOf(name: string): Readonly<Record<string, unknown>> | undefined {
    return this.statuses.findLast((entry) => entry.name === name)?.status;
  }

  condition(
    name: string,
    type: string,
  ): { readonly status: string; readonly reason: string; readonly message: string } | undefined {
    const conditions = this.statusOf(name)?.conditions as readonly {
      type: string;
      status: string;
      reason: string;
      message: string;
    }[];
    return conditions?.find((condition) => condition.type === type);
  }

  readonly objects: AutoscalerCluster['objects'] = {
    list: <K extends Kind>(kind: K, query: ObjectQuery = {}) =>
      [...(this.byKind.get(kind)?.values() ?? [])].filter(
        (object) =>
          (query.namespace === undefined || object.metadata.namespace === query.namespace) &&
          selects({ matchLabels: query.labels ?? {} }, object.metadata.labels),
      ) as unknown as readonly KindMap[K][],
    get: <K extends Kind>(kind: K, namespace: string, name: string) =>
      this.byKind.get(kind)?.get(`${namespace}/${name}`) as KindMap[K] | undefined,
    changed: () => () => {},
    freshness: () => ({ isSynced: this.isSynced, ageMs: this.ageMs }),
  };

  readonly scaling: AutoscalerCluster['scaling'] = {
    read: async (target) => {
      const scale = this.scales.get(scaleKey(target));
      return scale === undefined ? { kind: 'gone' } : { kind: 'found', value: scale };
    },
    set: async (target, replicas, version) => {
      const answer = this.scaleAnswers.shift();
      if (answer !== undefined) return answer;
      const scale = this.scales.get(scaleKey(target));
      if (scale === undefined) return { kind: 'gone' };
      if (scale.version !== version) return { kind: 'conflict' };
      this.written.push({ target: target.name, replicas });
      const next = String(this.version++);
      this.scales.set(scaleKey(target), { ...scale, desired: replicas, actual: replicas, version: next });
      return { kind: 'applied', version: next };
    },
    setRoles: async (target, replicas, version) => {
      const serving = this.objects.get('ModelServing', target.namespace, target.name);
      if (serving === undefined) return { kind: 'gone' };
      if (serving.metadata.resourceVersion !== version) return { kind: 'conflict' };
      const roles = serving.spec.template.roles.map((role) => ({ ...role, replicas: replicas[role.name] ?? role.replicas }));
      this.written.push({ target: target.name, replicas });
      this.put({ ...serving, spec: { ...serving.spec, template: { ...serving.spec.template, roles } } } as KubeObject);
      return { kind: 'applied', version: String(this.version) };
    },
  };

  readonly status: AutoscalerCluster['status'] = {
    report: async (_kind, object, status) => {
      this.statuses.push({ name: object.metadata.name, status: status as Readonly<Record<string, unknown>> });
      return { kind: 'applied', version: String(this.version++) };
    },
  };

  readonly pods: AutoscalerCluster['pods'] = {
    mark: async (namespace, name, uid, annotations) => {
      const pod = this.objects.get('Pod', namespace, name);
      if (pod === undefined || pod.metadata.uid !== uid) return { kind: 'gone' };
      const marked = Object.entries({ ...pod.metadata.annotations, ...annotations }).filter(([, value]) => value !== null);
      this.put({ ...pod, metadata: { ...pod.metadata, annotations: Object.fromEntries(marked) as Record<string, string> } });
      return { kind: 'applied', version: String(this.version) };
    },
  };

  readonly events: AutoscalerCluster['events'] = {
    note: (regarding, type, reason, message) => {
      this.notes.push({ regarding: regarding.metadata.name, type, reason, message });
    },
  };

  /** Pods of one replica of a target, by its name. */
  readonly templates = new Map<string, readonly Pick<Pod, 'metadata' | 'spec'>[]>();
  readonly workloadPods: AutoscalerCluster['workloadPods'] = { podsOf: ({ name }) => this.templates.get(name) ?? [] };

  readonly wakeRequests: AutoscalerCluster['wakeRequests'] = {
    list: () => [],
    read: async () => ({ kind: 'gone' }),
    changed: () => () => {},
  };

  /** Name of this process's term, where several could lead; undefined: nobody else can. */
  term: string | undefined;
  /** Whether somebody else was seen to lead. */
  isStandby = false;
  /** Why this process gave up. */
  readonly conceded: Finding[] = [];
  /** Epoch that each target carries, by `kind/namespace/name`. */
  readonly stamped = new Map<string, string>();
  /** What the next stamps answer instead of stamping. */
  readonly stampAnswers: WriteOutcome[] = [];

  get leadership(): AutoscalerCluster['leadership'] {
    const held = () => this.isLeader;
    if (this.term === undefined) return { held };
    const contest = {
      epoch: () => (this.isLeader ? this.term : undefined),
      standsBy: () => this.isStandby,
      concede: (finding: Finding) => {
        this.isLeader = false;
        this.conceded.push(finding);
      },
      lost: new Promise<Finding>(() => {}),
    };
    return { held, contest };
  }

  readonly epochs: AutoscalerCluster['epochs'] = {
    read: async (target) => {
      const found = this.metadataOf(target);
      if (found === undefined) return { kind: 'gone' };
      const epoch = this.stamped.get(scaleKey(target));
      return { kind: 'found', value: { ...found, ...(epoch !== undefined && { epoch }) } };
    },
    stamp: async (target, epoch, version) => {
      const answer = this.stampAnswers.shift();
      if (answer !== undefined) return answer;
      const found = this.metadataOf(target);
      if (found === undefined) return { kind: 'gone' };
      if (found.version !== version) return { kind: 'conflict' };
      this.stamped.set(scaleKey(target), epoch);
      const next = String(this.version);
      const scale = this.scales.get(scaleKey(target));
      if (scale !== undefined) this.scales.set(scaleKey(target), { ...scale, version: String(this.version++) });
      else {
        const object = this.objects.get('ModelServing', target.namespace, target.name)!;
        const annotations = { ...object.metadata.annotations, [Annotations.scalerEpoch]: epoch };
        this.put({ ...object, metadata: { ...object.metadata, annotations } });
      }
      return { kind: 'applied', version: next };
    },
  };

  private metadataOf(target: TargetRef): { readonly uid: string; readonly version: string } | undefined {
    const scale = this.scales.get(scaleKey(target));
    if (scale !== undefined) return { uid: scale.uid, version: scale.version };
    const object = this.objects.get('ModelServing', target.namespace, target.name);
    return object && { uid: object.metadata.uid!, version: object.metadata.resourceVersion! };
  }
}

function scaleKey({ kind, namespace, name }: TargetRef): string {
  return `${kind}/${namespace}/${name}`;
}

/** A pod that is ready and answers on `host`. */
export function readyPod(name: string, labels: Readonly<Record<string, string>>, host: string, more: Partial<Pod> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, labels },
    spec: { containers: [] },
    status: { phase: 'Running', podIP: host, conditions: [{ type: 'Ready', status: 'True' }] },
    ...more,
  };
}
