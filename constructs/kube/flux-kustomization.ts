import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** Fields of objects that Flux neither compares nor writes. */
export interface FluxIgnoreRule {
  /** JSON pointers. */
  readonly paths: readonly string[];
  readonly target: { readonly group?: string; readonly kind: string; readonly name: string; readonly namespace: string };
}

/** Spec of a Kustomization, as far as a folder of plain manifests needs it. */
export interface FluxKustomizationSpec {
  readonly sourceRef: {
    readonly kind: 'GitRepository' | 'OCIRepository' | 'Bucket' | 'ExternalArtifact';
    readonly name: string;
    readonly namespace?: string;
  };
  readonly path: string;
  readonly interval: string;
  readonly retryInterval?: string;
  readonly timeout?: string;
  readonly prune: boolean;
  readonly wait?: boolean;
  readonly force: boolean;
  readonly serviceAccountName?: string;
  readonly ignore?: readonly FluxIgnoreRule[];
}

/** L1: one Kustomization of Flux's kustomize-controller, fields as in the API. */
export class KubeFluxKustomization extends KubeApiObject<FluxKustomizationSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<FluxKustomizationSpec>) {
    super(scope, id, KubeFluxKustomization.GVK, props);
  }
}
