import type { KubeObject } from '../../src/api/meta';
import type { Kind, KindMap, Objects } from './objects';
import type { WriteOutcome } from './outcome';
import type { Scaling } from './scaling';
import type { WakeRequests } from './wake-requests';
import type { WakeSignal } from './wake-signal';
import type { Workloads } from './workloads';

/** Writes the status subresource of one object, complete each time. */
export interface Status {
  report<K extends Kind>(kind: K, object: KindMap[K], status: object): Promise<WriteOutcome>;
}

/** Annotations on pods: drain marks, deletion cost. A value of null removes the key. */
export interface Pods {
  mark(namespace: string, name: string, uid: string, annotations: Readonly<Record<string, string | null>>): Promise<WriteOutcome>;
}

/** Kubernetes Events, best effort: a note that cannot be written is dropped. */
export interface Events {
  note(regarding: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
}

/** Whether this process may write. */
export interface Leadership {
  held(): boolean;
}

/** Values of Secrets, decoded. Only Secrets with the asked label are visible. */
export interface Secrets {
  /** @returns data of each matching Secret by `namespace/name`. */
  byLabel(key: string, value: string): ReadonlyMap<string, Readonly<Record<string, Buffer>>>;
  /** Calls `listener` in a later turn after Secrets changed, once for changes that come together. @returns a function that ends it. */
  changed(listener: () => void): () => void;
}

/** What the router is given: it reads, and writes nothing but the leases that wake what sleeps. */
export interface RouterCluster {
  readonly objects: Objects;
  readonly secrets: Secrets;
  /** Absent where nothing can be woken. */
  readonly wake?: WakeSignal;
}

/** What the autoscaler is given. */
export interface AutoscalerCluster {
  readonly objects: Objects;
  readonly scaling: Scaling;
  readonly status: Status;
  readonly pods: Pods;
  readonly events: Events;
  readonly leadership: Leadership;
  readonly workloadPods: Workloads;
  readonly wakeRequests: WakeRequests;
}

/** A source of all abilities. `close` ends its watches and timers and resolves when nothing of it runs. */
export interface Cluster extends RouterCluster, AutoscalerCluster {
  close(): Promise<void>;
}
