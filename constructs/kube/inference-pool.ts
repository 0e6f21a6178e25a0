import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

export interface InferencePoolSpec {
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly targetPorts: readonly { readonly number: number }[];
  readonly appProtocol?: 'http' | 'kubernetes.io/h2c';
  readonly endpointPickerRef?: {
    readonly group?: string;
    readonly kind?: string;
    readonly name: string;
    readonly port?: { readonly number: number };
    readonly failureMode?: 'FailOpen' | 'FailClose';
  };
}

/** L1: one InferencePool object, fields as in the API. */
export class KubeInferencePool extends KubeApiObject<InferencePoolSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'inference.networking.k8s.io/v1', kind: 'InferencePool' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<InferencePoolSpec>) {
    super(scope, id, KubeInferencePool.GVK, props);
  }
}
