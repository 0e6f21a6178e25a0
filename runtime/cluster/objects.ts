import type { AutoscalingPolicy } from '../../src/api/autoscaling-policy';
import type { AutoscalingPolicyBinding } from '../../src/api/autoscaling-policy-binding';
import type { ExternalModelProvider } from '../../src/api/external-model-provider';
import type { KubeObject } from '../../src/api/meta';
import type { ModelBooster } from '../../src/api/model-booster';
import type { ModelRoute } from '../../src/api/model-route';
import type { ModelServer } from '../../src/api/model-server';
import type { ModelServing } from '../../src/api/model-serving';
import type { Pod } from '../../src/api/pod';

/** Kinds that an image may list, each with its type. Values are defaulted and validated as `src/api` says. */
export interface KindMap {
  readonly ModelRoute: ModelRoute;
  readonly ModelServer: ModelServer;
  readonly ExternalModelProvider: ExternalModelProvider;
  readonly AutoscalingPolicy: AutoscalingPolicy;
  readonly AutoscalingPolicyBinding: AutoscalingPolicyBinding;
  readonly ModelBooster: ModelBooster;
  readonly ModelServing: ModelServing;
  readonly Pod: Pod;
  /** Workloads and everything else that is only carried. */
  readonly Deployment: KubeObject;
  readonly HorizontalPodAutoscaler: KubeObject;
  readonly ResourceQuota: KubeObject;
}

export type Kind = keyof KindMap;

export interface ObjectQuery {
  readonly namespace?: string;
  /** All of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** How current the view of one kind is. */
export interface Freshness {
  /** Whether the first full list has arrived. */
  readonly isSynced: boolean;
  /** Milliseconds since the source last said that the view is current. */
  readonly ageMs: number;
}

/** Reads from cache, at once and without I/O. Values are frozen; a changed object is a new value. */
export interface Objects {
  list<K extends Kind>(kind: K, query?: ObjectQuery): readonly KindMap[K][];
  get<K extends Kind>(kind: K, namespace: string, name: string): KindMap[K] | undefined;
  /** Calls `listener` with the coalesced `namespace/name` keys that changed, in a later turn. @returns a function that ends it. */
  changed(kind: Kind, listener: (keys: ReadonlySet<string>) => void): () => void;
  freshness(kind: Kind): Freshness;
}
