import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import type { ModelServingManifest } from '../../src/api/model-serving';
import { WORKLOAD_API_VERSION } from '../../src/labels';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** L1: one ModelServing object, fields as in the API. The kind and its controller are Kthena's. */
export class KubeModelServing extends KubeApiObject<ModelServingManifest['spec']> {
  static readonly GVK: GroupVersionKind = { apiVersion: WORKLOAD_API_VERSION, kind: 'ModelServing' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<ModelServingManifest['spec']>) {
    super(scope, id, KubeModelServing.GVK, props);
  }
}
