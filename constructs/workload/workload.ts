import type { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import type { Rollout } from '../rollout';
import type { PodTemplate } from './pod-template';

/** An object with a `/scale` subresource, in the namespace of its chart. */
export interface ScaleTarget {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

/** Copies of one pod (or group of pods) that serve a model. */
export interface ServingGroupSpec {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Labels that only pods of this group carry. Never changes for a live workload: selectors are immutable. */
  readonly selector: Readonly<Record<string, string>>;
  /** Replicas to write; undefined when a scaler owns the number. Asked for at synth. */
  replicas(): number | undefined;
  readonly podsPerReplica: number;
  readonly rollout: Rollout;
  /** Longest time from a pod's creation to its readiness: pull, load, warm-up. */
  readonly startupBudgetSeconds: number;
  /** The pods, overrides applied. Asked for at synth. */
  template(): PodTemplate;
}

/** Something that a workload engine cannot express. */
export interface Limit {
  /** What is asked for, such as `podsPerReplica is 2`. */
  readonly what: string;
  /** The engine that can. */
  readonly instead: WorkloadEngine['name'];
}

/** What a workload engine made. */
export interface Workload {
  readonly resource: ApiObject;
  readonly scaleTarget: ScaleTarget;
}

/** How a serving group becomes Kubernetes objects. */
export interface WorkloadEngine {
  readonly name: 'Deployment' | 'LeaderWorkerSet' | 'DisaggregatedSet' | 'ModelServing';
  /** What this engine cannot express of `group`; empty when it can. Reported at synth with the engine that can. */
  limits(group: ServingGroupSpec): readonly Limit[];
  /** Creates the objects under `scope` and tells where a scaler finds them. The main object's id is `Resource`. */
  create(scope: Construct, group: ServingGroupSpec): Workload;
}
