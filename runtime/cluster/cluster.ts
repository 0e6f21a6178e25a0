import type { KubeObject } from '../../src/api/meta';
import type { Finding } from '../../src/errors';
import type { Epochs } from './epochs';
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
  /** Absent where no other process can lead. */
  readonly contest?: Contest;
}

/** An election among processes that do the same. Whoever has lost it never leads again, and should end. */
export interface Contest {
  /** Name of this process's term, unlike that of any other; undefined while it does not lead. */
  epoch(): string | undefined;
  /** Whether somebody else was seen to lead, and still may. */
  standsBy(): boolean;
  /** Leads no more, since somebody else was found to lead. */
  concede(finding: Finding): void;
  /** Resolves when leadership was lost: why. */
  readonly lost: Promise<Finding>;
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
  /** Absent where no other process can lead. */
  readonly epochs?: Epochs;
  readonly workloadPods: Workloads;
  readonly wakeRequests: WakeRequests;
}

/** A source of all abilities. `close` ends its watches and timers and resolves when nothing of it runs. */
export interface Cluster extends RouterCluster, AutoscalerCluster {
  close(): Promise<void>;
}
