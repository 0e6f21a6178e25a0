import { ApiObject, type ApiObjectProps, type GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import type { KubeObject } from '../../src/api/meta';
import { KubeAutoscalingPolicy } from '../kube/autoscaling-policy';
import { KubeAutoscalingPolicyBinding } from '../kube/autoscaling-policy-binding';
import { KubeExternalModelProvider } from '../kube/external-model-provider';
import { KubeModelRoute } from '../kube/model-route';
import { KubeModelServer } from '../kube/model-server';
import { KubeModelServing } from '../kube/model-serving';

/** Classes of Kthena's kinds. Objects of all others are plain `ApiObject`s. */
export interface KindClasses {
  readonly ModelRoute: KubeModelRoute;
  readonly ModelServer: KubeModelServer;
  readonly ModelServing: KubeModelServing;
  readonly ExternalModelProvider: KubeExternalModelProvider;
  readonly AutoscalingPolicy: KubeAutoscalingPolicy;
  readonly AutoscalingPolicyBinding: KubeAutoscalingPolicyBinding;
}

interface KindClass<T extends ApiObject> {
  readonly GVK: GroupVersionKind;
  new (scope: Construct, id: string, props: never): T;
}

const CLASSES: { readonly [K in keyof KindClasses]: KindClass<KindClasses[K]> } = {
  ModelRoute: KubeModelRoute,
  ModelServer: KubeModelServer,
  ModelServing: KubeModelServing,
  ExternalModelProvider: KubeExternalModelProvider,
  AutoscalingPolicy: KubeAutoscalingPolicy,
  AutoscalingPolicyBinding: KubeAutoscalingPolicyBinding,
};

/** An object of any kind, with all of its fields: an instance of its kind's class where there is one. */
export function createApiObject(scope: Construct, id: string, object: KubeObject): ApiObject {
  // A copy of its own: cdk8s takes objects that others made (frozen, or of another realm) for values to resolve.
  const { apiVersion, kind, ...fields } = JSON.parse(JSON.stringify(object)) as KubeObject & { readonly spec?: unknown };
  const found = Object.hasOwn(CLASSES, kind) ? CLASSES[kind as keyof KindClasses] : undefined;
  if (found === undefined || found.GVK.apiVersion !== apiVersion || typeof fields.spec !== 'object') {
    return new ApiObject(scope, id, { apiVersion, kind, ...fields } as ApiObjectProps);
  }
  const { metadata, spec, ...others } = fields;
  return new found(scope, id, { metadata, spec, others } as never);
}
