import { isDeepStrictEqual } from 'node:util';
import { describeObject, type KubeObject } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import type { Events } from '../cluster';
import { type ObjectRef, refKeyOf, refOf } from '../object-source';
import type { ObjectStore } from './object-store';
import { isGivenPod } from './pod-status';
import type { PodSupervisor } from './pod-supervisor';
import type { ReconcileQueue } from './reconcile-queue';

/** Key of these pods in the queue. */
export const FILE_PODS = 'file-pods';

interface Made {
  readonly manifest: Pod;
  readonly uid: string;
}

/**
 * Pods that stand in files themselves. One with `status.podIP` is run by somebody else and used as it is; any other is run, and replaced
 * when its spec changes.
 */
export class FilePods {
  private readonly wanted = new Map<string, Pod>();
  private readonly made = new Map<string, Made>();
  /** Wanted pods whose name another pod bears. */
  private readonly blocked = new Set<string>();

  constructor(
    private readonly store: ObjectStore,
    private readonly events: Events,
    /** Absent: pods without address stay pending. */
    private readonly supervisor: PodSupervisor | undefined,
    private readonly queue: ReconcileQueue,
  ) {}

  want(pod: Pod): void {
    this.wanted.set(refKeyOf(refOf(pod)), pod);
    this.queue.add(FILE_PODS);
  }

  forget(ref: ObjectRef): void {
    this.wanted.delete(refKeyOf(ref));
    this.queue.add(FILE_PODS);
  }

  /** Whether somebody else runs this pod. */
  isGiven(pod: KubeObject): boolean {
    const made = this.made.get(refKeyOf(refOf(pod)));
    return made !== undefined && made.uid === pod.metadata.uid && isGivenPod(made.manifest);
  }

  /** Pods that somebody else runs. */
  given(): readonly Pod[] {
    const given: Pod[] = [];
    for (const { manifest, uid } of this.made.values()) {
      const pod = isGivenPod(manifest) ? this.store.same(refOf(manifest), uid) : undefined;
      if (pod !== undefined) given.push(pod as Pod);
    }
    return given;
  }

  /** Takes note of a change in the store: a pod that went may make room for its successor. */
  noteChange(object: KubeObject, change: 'put' | 'removed'): void {
    if (object.kind === 'Pod' && (change === 'removed' || this.made.has(refKeyOf(refOf(object))))) this.queue.add(FILE_PODS);
  }

  /** Whether all that stands in files is in the store, and nothing else of it. */
  isSteady(): boolean {
    return (
      [...this.wanted].every(([key, pod]) => this.made.get(key)?.manifest === pod || this.blocked.has(key)) &&
      [...this.made.keys()].every((key) => this.wanted.has(key))
    );
  }

  reconcile(): void {
    this.blocked.clear();
    for (const [key, { manifest, uid }] of this.made) {
      const pod = this.store.same(refOf(manifest), uid) as Pod | undefined;
      if (pod === undefined) this.made.delete(key);
      else this.update(key, pod, manifest, this.wanted.get(key));
    }
    for (const [key, manifest] of this.wanted) {
      if (!this.made.has(key)) this.make(key, manifest);
    }
  }

  private update(key: string, pod: Pod, manifest: Pod, wanted: Pod | undefined): void {
    if (wanted === manifest) return;
    const isSamePod =
      wanted !== undefined &&
      isGivenPod(wanted) === isGivenPod(manifest) &&
      isDeepStrictEqual(wanted.spec, manifest.spec) &&
      wanted.metadata.uid === manifest.metadata.uid;
    if (!isSamePod) {
      this.end(pod);
      if (this.store.get(refOf(pod)) === undefined) this.made.delete(key);
      return;
    }
    this.made.set(key, { manifest: wanted, uid: pod.metadata.uid! });
    const status = isGivenPod(wanted) ? wanted.status : pod.status;
    const annotations = { ...wanted.metadata.annotations, ...addedBy(pod, manifest) };
    this.store.update(pod, {
      ...wanted,
      metadata: { ...wanted.metadata, annotations },
      ...(status === undefined ? {} : { status }),
    } as Pod);
  }

  private make(key: string, manifest: Pod): void {
    const holder = this.store.get(refOf(manifest));
    if (holder !== undefined) {
      const message = `the name of ${describeObject(manifest)} is taken by a pod of a workload`;
      this.events.note(holder, 'Warning', 'FailedCreate', message);
      this.blocked.add(key);
      return;
    }
    const isGiven = isGivenPod(manifest);
    const { uid, creationTimestamp } = manifest.metadata;
    const pod = this.store.create(manifest, {
      ...(isGiven && uid !== undefined ? { uid } : {}),
      ...(isGiven && typeof creationTimestamp === 'string' ? { creationTimestamp } : {}),
    }) as Pod;
    this.made.set(key, { manifest, uid: pod.metadata.uid! });
    if (!isGiven) this.supervisor?.start(pod);
  }

  private end(pod: Pod): void {
    if (this.supervisor === undefined) this.store.remove(pod);
    else this.supervisor.stop(pod);
  }
}

/** Annotations that the cluster put on a pod and that no manifest names: its port map, marks. */
function addedBy(pod: Pod, manifest: Pod): Record<string, string> {
  const written = manifest.metadata.annotations ?? {};
  return Object.fromEntries(Object.entries(pod.metadata.annotations ?? {}).filter(([key]) => !Object.hasOwn(written, key)));
}
