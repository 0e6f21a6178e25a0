import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import type { ModelServerManifest } from '../../src/api/model-server';
import { NETWORKING_API_VERSION } from '../../src/labels';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** L1: one ModelServer object, fields as in the API. */
export class KubeModelServer extends KubeApiObject<ModelServerManifest['spec']> {
  static readonly GVK: GroupVersionKind = { apiVersion: NETWORKING_API_VERSION, kind: 'ModelServer' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<ModelServerManifest['spec']>) {
    super(scope, id, KubeModelServer.GVK, props);
  }
}
