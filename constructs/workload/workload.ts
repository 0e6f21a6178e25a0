import type { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import type { GangOptions } from '../gang-options';
import type { Rollout } from '../rollout';
import type { PodTemplate } from './pod-template';

/** An object with a `/scale` subresource, in the namespace of its chart. */
export interface ScaleTarget {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

export type WorkloadName = 'Deployment' | 'LeaderWorkerSet' | 'DisaggregatedSet' | 'ModelServing';

/** What is made anew when a pod of a replica fails: all of the replica's pods, which nearly always need each other, or that pod. */
export type Recovery = 'replica' | 'pod';

/** Copies of one pod (or group of pods) that serve a model. */
export interface ServingGroupSpec {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Replicas to write; undefined when a scaler owns the number. Asked for at synth. */
  replicas(): number | undefined;
  /** Fewest replicas that there may be. */
  readonly minReplicas: number;
  readonly podsPerReplica: number;
  readonly rollout: Rollout;
  readonly recovery: Recovery;
  /** Longest time from a pod's creation to its readiness: pull, load, warm-up. */
  readonly startupBudgetSeconds: number;
  /** What must be scheduled together; undefined: each pod alone. */
  readonly gang: GangOptions | undefined;
  /** The pod of each replica that serves, overrides applied. Asked for at synth. */
  template(): PodTemplate;
  /** The other pods of a replica. Asked for at synth, and only when there are some. */
  workerTemplate(): PodTemplate;
}

/** Something that a workload engine cannot express. */
export interface Limit {
  /** What is asked for, such as `podsPerReplica is 2`; the first word is the field. */
  readonly what: string;
  /** The engine that can, or what to do instead where none can. */
  readonly instead: WorkloadName | { readonly remedy: string };
}

/** Where the pods of a replica find each other: environment variables that the workload's controller sets in each of them. */
export interface GroupVariables {
  /** Address of the replica's first pod. */
  readonly leaderAddress: string;
  /** Place of the pod in its replica, 0 for the first. */
  readonly index: string;
  /** Pods of the replica. */
  readonly size: string;
}

/** What a workload engine made, and where others find it. */
export interface Workload {
  readonly resource: ApiObject;
  readonly scaleTarget: ScaleTarget;
  /** Labels that only pods of this group carry. Never changes for a live workload: selectors are immutable. */
  readonly podSelector: Readonly<Record<string, string>>;
  /** Labels that only the pods of this group carry which answer requests: one for each replica. */
  readonly servingSelector: Readonly<Record<string, string>>;
  /** Whether its controller makes a Service of the workload's name, so that ours needs another one. */
  readonly makesService: boolean;
  /** What a disruption budget must say so that one replica at a time may lose pods. */
  readonly disruption: { readonly maxUnavailable: number } | { readonly minAvailable: number };
}

/** How a serving group becomes Kubernetes objects. */
export interface WorkloadEngine {
  readonly name: WorkloadName;
  /** Set for engines with several pods in a replica. */
  readonly groupVariables?: GroupVariables;
  /** Who makes the PodGroup of a gang: the workload's own controller, or we, beside the workload. */
  readonly gangs: 'controller' | 'pod-group';
  /** What this engine cannot express of `group`; empty when it can. Reported at synth with the engine that can. */
  limits(group: ServingGroupSpec): readonly Limit[];
  /** Creates the objects under `scope` and tells where a scaler finds them. The main object's id is `Resource`. */
  create(scope: Construct, group: ServingGroupSpec): Workload;
}
