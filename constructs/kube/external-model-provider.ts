import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import type { ExternalModelProviderManifest } from '../../src/api/external-model-provider';
import { NETWORKING_API_VERSION } from '../../src/labels';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** L1: one ExternalModelProvider object, fields as in the API. */
export class KubeExternalModelProvider extends KubeApiObject<ExternalModelProviderManifest['spec']> {
  static readonly GVK: GroupVersionKind = { apiVersion: NETWORKING_API_VERSION, kind: 'ExternalModelProvider' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<ExternalModelProviderManifest['spec']>) {
    super(scope, id, KubeExternalModelProvider.GVK, props);
  }
}
