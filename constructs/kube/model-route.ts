import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import type { ModelRouteManifest } from '../../src/api/model-route';
import { NETWORKING_API_VERSION } from '../../src/labels';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** L1: one ModelRoute object, fields as in the API. */
export class KubeModelRoute extends KubeApiObject<ModelRouteManifest['spec']> {
  static readonly GVK: GroupVersionKind = { apiVersion: NETWORKING_API_VERSION, kind: 'ModelRoute' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<ModelRouteManifest['spec']>) {
    super(scope, id, KubeModelRoute.GVK, props);
  }
}
