import type { GroupVersionKind } from 'cdk8s';
import type { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import type { ApiJson } from './api-json';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

export type RawDisruptionBudgetSpec = ApiJson<k8s.PodDisruptionBudgetSpec>;

/** L1: one PodDisruptionBudget, its spec passed through as it is. */
export class RawDisruptionBudget extends KubeApiObject<RawDisruptionBudgetSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<RawDisruptionBudgetSpec>) {
    super(scope, id, RawDisruptionBudget.GVK, props);
  }
}
