import { ApiObject, type ApiObjectMetadata, type GroupVersionKind, type JsonPatch, Lazy } from 'cdk8s';
import type { Construct } from 'constructs';
import { hasStackContext } from '../stack-context';
import { metadataJson } from './metadata-json';
import { plainJson, UNRESOLVED } from './plain-json';

/** What an L1 object of ours is made from. `spec` may be a function, called once per synth, so that constructs can still add to it. */
export interface KubeObjectProps<Spec> {
  readonly metadata: ApiObjectMetadata;
  readonly spec: Spec | (() => Spec);
  /** Fields beside `metadata` and `spec`, as somebody else's manifest may have. @default none */
  readonly others?: Readonly<Record<string, unknown>>;
}

/** Base of the L1 classes: one Kubernetes object, its fields as in the API. */
export abstract class KubeApiObject<Spec extends object> extends ApiObject {
  private readonly fields: Readonly<Record<string, unknown>>;
  private isPatched = false;

  protected constructor(scope: Construct, id: string, type: GroupVersionKind, props: KubeObjectProps<Spec>) {
    const { spec } = props;
    const fields = { ...props.others, ...type, spec: typeof spec === 'function' ? Lazy.any({ produce: spec }) : spec };
    super(scope, id, { ...fields, metadata: props.metadata });
    this.fields = fields;
  }

  override addJsonPatch(...ops: JsonPatch[]): void {
    this.isPatched = true;
    super.addJsonPatch(...ops);
  }

  /** As cdk8s renders it. `GitOpsApp` has no resolvers of its own, so that there most objects need none of its work per value. */
  override toJson(): ReturnType<ApiObject['toJson']> {
    if (this.isPatched || !hasStackContext(this) || process.env.CDK8S_DISABLE_SORT) return super.toJson();
    const { apiVersion, kind, ...rest } = this.fields;
    const plain = plainJson(rest);
    if (plain === UNRESOLVED) return super.toJson();
    return { apiVersion, kind, metadata: metadataJson(this.metadata), ...(plain as object) };
  }
}
