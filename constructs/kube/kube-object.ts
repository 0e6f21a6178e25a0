import { ApiObject, type ApiObjectMetadata, type GroupVersionKind, Lazy } from 'cdk8s';
import type { Construct } from 'constructs';

/** What an L1 object of ours is made from. `spec` may be a function, called once per synth, so that constructs can still add to it. */
export interface KubeObjectProps<Spec> {
  readonly metadata: ApiObjectMetadata;
  readonly spec: Spec | (() => Spec);
}

/** Base of the L1 classes: one Kubernetes object, its fields as in the API. */
export abstract class KubeApiObject<Spec extends object> extends ApiObject {
  protected constructor(scope: Construct, id: string, type: GroupVersionKind, props: KubeObjectProps<Spec>) {
    const { spec } = props;
    super(scope, id, {
      ...type,
      metadata: props.metadata,
      spec: typeof spec === 'function' ? Lazy.any({ produce: spec }) : spec,
    });
  }
}
