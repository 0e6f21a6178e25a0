import { describeObject, type KubeObject, type LabelSelector, selects } from '../../../src/api/meta';
import type { ModelServing } from '../../../src/api/model-serving';
import type { Pod } from '../../../src/api/pod';
import { workloadKindOf } from '../../../src/expand/expand-workload';
import { DisaggregatedLabels, type DisaggregatedSet, LeaderWorkerLabels } from '../../../src/expand/leader-worker-workload';
import { podChanges } from '../../../src/expand/pod-changes';
import type { AppsWorkload } from '../../../src/expand/workload-plan';
import { Labels } from '../../../src/labels';
import type { Clock, Timer } from '../../lib/clock';
import type { Events } from '../cluster';
import { type ObjectRef, refKeyOf, refOf } from '../object-source';
import type { FilePods } from './file-pods';
import { roleCounts } from './leader-worker-status';
import type { ObjectStore } from './object-store';
import type { PodSupervisor } from './pod-supervisor';
import type { ReconcileQueue } from './reconcile-queue';
import { RoleScalers, scaledSet } from './role-scalers';
import { servingRecovery } from './serving-recovery';
import { isEnding, workloadStatus } from './workload-status';

const PODS = { group: '', kind: 'Pod' } as const;

interface Managed {
  readonly ref: ObjectRef;
  /** Pods made for it, by uid, each with the uid of the workload that it was made for. */
  readonly pods: Map<string, { readonly name: string; readonly ownerUid: string }>;
  isSteady: boolean;
  again?: Timer;
}

/**
 * Makes and removes the pods of Deployments, StatefulSets, LeaderWorkerSets, DisaggregatedSets and ModelServings, and writes the status of those, as their controllers do.
 * A workload whose pods are given, with addresses, is run by somebody else: only its status is written.
 */
export class WorkloadControllers {
  private readonly managed = new Map<string, Managed>();
  private readonly parentOf = new Map<string, string>();
  private readonly scalers: RoleScalers;

  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
    private readonly events: Events,
    /** Absent: pods are never made. */
    private readonly supervisor: PodSupervisor | undefined,
    private readonly queue: ReconcileQueue,
    private readonly filePods: FilePods,
  ) {
    this.scalers = new RoleScalers(store);
  }

  /** Takes note of a change in the store. */
  noteChange(object: KubeObject, change: 'put' | 'removed'): void {
    if (workloadKindOf(object) !== undefined) {
      const ref = refOf(object);
      const key = refKeyOf(ref);
      if (!this.managed.has(key)) this.managed.set(key, { ref, pods: new Map(), isSteady: false });
      this.queue.add(key);
      return;
    }
    const scaled = scaledSet(object);
    if (scaled !== undefined) this.queue.add(refKeyOf(scaled));
    if (object.kind !== 'Pod' || object.apiVersion !== 'v1') return;
    const parent = this.parentOf.get(object.metadata.uid!);
    if (parent !== undefined) this.queue.add(parent);
    // A given pod may stand for a workload's, and a name that got free may be one that a workload waits for.
    else if (this.filePods.isGiven(object) || change === 'removed') this.queueNamespace(object.metadata.namespace);
  }

  /** Takes one step for the workload of this key. @returns false when the key is none of a workload. */
  reconcile(key: string): boolean {
    const managed = this.managed.get(key);
    if (managed === undefined) return false;
    managed.again?.cancel();
    const workload = this.current(managed);
    const pods = this.podsOf(managed, workload?.metadata.uid);
    if (workload === undefined) {
      if (managed.pods.size === 0) this.managed.delete(key);
      managed.isSteady = managed.pods.size === 0;
      return true;
    }
    try {
      this.step(key, managed, workload, pods);
    } catch (error) {
      managed.isSteady = true;
      this.events.note(workload, 'Warning', 'FailedReconcile', error instanceof Error ? error.message : String(error));
    }
    return true;
  }

  /** Whether no workload is on its way to another state. */
  isSteady(): boolean {
    return [...this.managed.values()].every(({ isSteady }) => isSteady);
  }

  close(): void {
    for (const { again } of this.managed.values()) again?.cancel();
  }

  /** The workload as its controller reads it: roles that are scaled from outside have the replicas of their scalers. */
  private current({ ref }: Managed): KubeObject | undefined {
    const workload = this.store.get(ref);
    return workload !== undefined && workloadKindOf(workload) === 'DisaggregatedSet'
      ? this.scalers.resolve(workload as DisaggregatedSet)
      : workload;
  }

  private step(key: string, managed: Managed, workload: KubeObject, own: readonly Pod[]): void {
    const given = this.givenPods(workload);
    const isElsewhere = this.supervisor === undefined || given.length > 0;
    const { create, remove } = isElsewhere ? { create: [], remove: own } : podChanges(workload, own);
    const recovery =
      isElsewhere || workload.kind !== 'ModelServing'
        ? undefined
        : servingRecovery(workload as ModelServing, own, this.clock.now());
    const going = new Set([...remove, ...(recovery?.remove ?? [])].filter((pod) => !isEnding(pod)));
    for (const pod of going) this.supervisor?.stop(pod);
    let created = 0;
    for (const pod of create) if (this.make(key, managed, workload, pod)) created += 1;
    managed.isSteady = created === 0 && going.size === 0 && !own.some(isEnding);
    if (recovery?.againAfterMs !== undefined) {
      managed.again = this.clock.after(recovery.againAfterMs, () => this.queue.add(key));
    }
    this.writeStatus(managed, given);
  }

  /** Pods made for this workload that still exist; those of a workload that had the name before are ended. */
  private podsOf(managed: Managed, uid: string | undefined): readonly Pod[] {
    const own: Pod[] = [];
    for (const [podUid, { name, ownerUid }] of managed.pods) {
      const pod = this.store.same({ ...PODS, namespace: managed.ref.namespace, name }, podUid) as Pod | undefined;
      if (pod === undefined) {
        managed.pods.delete(podUid);
        this.parentOf.delete(podUid);
      } else if (ownerUid === uid) own.push(pod);
      else if (!isEnding(pod)) this.supervisor?.stop(pod);
    }
    return own;
  }

  private make(key: string, managed: Managed, workload: KubeObject, template: Pod): boolean {
    const holder = this.store.get(refOf(template));
    if (holder !== undefined) {
      const isOlder = managed.pods.has(holder.metadata.uid!);
      if (!isOlder) {
        this.events.note(workload, 'Warning', 'FailedCreate', `the name of ${describeObject(template)} is taken by another pod`);
      }
      return isOlder;
    }
    const pod = this.store.create(template) as Pod;
    const uid = pod.metadata.uid!;
    managed.pods.set(uid, { name: pod.metadata.name, ownerUid: workload.metadata.uid! });
    this.parentOf.set(uid, key);
    this.supervisor!.start(pod);
    return true;
  }

  private writeStatus(managed: Managed, given: readonly Pod[]): void {
    const stored = this.store.get(managed.ref);
    const workload = this.current(managed);
    if (stored === undefined || workload === undefined) return;
    const pods = [...this.podsOf(managed, workload.metadata.uid), ...given];
    this.store.update(stored, { ...stored, status: workloadStatus(workload, pods, this.clock.now()) } as KubeObject);
    if (workloadKindOf(workload) !== 'DisaggregatedSet') return;
    for (const { name, replicas } of roleCounts(workload as DisaggregatedSet, pods)) {
      this.scalers.report(workload as DisaggregatedSet, name, replicas);
    }
  }

  private givenPods(workload: KubeObject): readonly Pod[] {
    const selector = selectorOf(workload);
    return this.filePods
      .given()
      .filter((pod) => pod.metadata.namespace === workload.metadata.namespace && selects(selector, pod.metadata.labels));
  }

  private queueNamespace(namespace: string | undefined): void {
    for (const [key, { ref }] of this.managed) if (ref.namespace === (namespace ?? 'default')) this.queue.add(key);
  }
}

/** Selects the pods of a workload; only its controller's labels count, where it sets some. */
function selectorOf(workload: KubeObject): LabelSelector {
  const { name } = workload.metadata;
  switch (workloadKindOf(workload)) {
    case 'ModelServing':
      return { matchLabels: { [Labels.modelServingName]: name } };
    case 'LeaderWorkerSet':
      return { matchLabels: { [LeaderWorkerLabels.name]: name } };
    case 'DisaggregatedSet':
      return { matchLabels: { [DisaggregatedLabels.name]: name } };
    default:
      return (workload as AppsWorkload).spec.selector ?? {};
  }
}
