import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** Fields of an object that Argo CD neither compares nor, with `RespectIgnoreDifferences`, writes. */
export interface ArgoIgnoreDifference {
  /** API group; absent for the core group. */
  readonly group?: string;
  readonly kind: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly jsonPointers?: readonly string[];
  readonly jqPathExpressions?: readonly string[];
}

/** Spec of an Application, as far as a folder of plain manifests needs it. */
export interface ArgoApplicationSpec {
  readonly project: string;
  readonly source: {
    readonly repoURL: string;
    readonly targetRevision: string;
    readonly path: string;
    readonly directory: { readonly recurse: boolean };
  };
  readonly destination: { readonly server?: string; readonly name?: string; readonly namespace?: string };
  readonly ignoreDifferences?: readonly ArgoIgnoreDifference[];
  readonly syncPolicy: {
    readonly automated?: { readonly prune: boolean; readonly selfHeal: boolean; readonly allowEmpty: boolean };
    readonly syncOptions: readonly string[];
    readonly retry?: {
      readonly limit: number;
      readonly backoff: { readonly duration: string; readonly factor: number; readonly maxDuration: string };
    };
  };
}

/** L1: one Argo CD Application, fields as in the API. */
export class KubeArgoApplication extends KubeApiObject<ArgoApplicationSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<ArgoApplicationSpec>) {
    super(scope, id, KubeArgoApplication.GVK, props);
  }
}
