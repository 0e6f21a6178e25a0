import { ApiObject } from 'cdk8s';
import type { IConstruct } from 'constructs';
import type { AutoscalingPolicySpec } from '../../src/api/autoscaling-policy';
import type { AutoscalingPolicyBindingSpec } from '../../src/api/autoscaling-policy-binding';
import type { KubeObject } from '../../src/api/meta';
import { type ScaleTarget, scaleTarget, targetRefs } from '../../src/api/scale-target';
import { WORKLOAD_GROUP } from '../../src/labels';

/** A field that a scaler writes in the cluster, so that no sync may. */
export interface ScalerOwnedField {
  /** Empty for the core group. */
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Absent for a field of a list whose place in it is not known. */
  readonly jsonPointer?: string;
  /** Present for a field of a list. */
  readonly jqPathExpression?: string;
}

type Spec = Pick<
  AutoscalingPolicySpec & AutoscalingPolicyBindingSpec,
  'homogeneousTarget' | 'heterogeneousTarget' | 'disaggregatedTarget'
>;
type Scaler = KubeObject & { readonly spec?: Spec & { readonly scaleTargetRef?: Partial<ScaleTarget> } };

/** Kinds by which replicas are scaled: Kvasir's and Kthena's, Kubernetes' own, and KEDA's. */
const SCALERS: ReadonlySet<string> = new Set([
  `${WORKLOAD_GROUP}/AutoscalingPolicy`,
  `${WORKLOAD_GROUP}/AutoscalingPolicyBinding`,
  'autoscaling/HorizontalPodAutoscaler',
  'keda.sh/ScaledObject',
]);

/** Where a kind keeps the roles of a disaggregated workload, and a role its replicas. */
const ROLES: Readonly<Record<string, { readonly list: readonly string[]; readonly replicas: readonly string[] }>> = {
  ModelServing: { list: ['spec', 'template', 'roles'], replicas: ['replicas'] },
  DisaggregatedSet: { list: ['spec', 'roles'], replicas: ['spec', 'replicas'] },
};

/** Every field that a scaler under `scopes` writes, by kind, namespace and name; each once. */
export function scalerOwnedFields(scopes: readonly IConstruct[]): readonly ScalerOwnedField[] {
  const objects = scopes.flatMap((scope) => scope.node.findAll()).filter((child) => ApiObject.isApiObject(child));
  const fields = objects
    .filter((object) => SCALERS.has(`${groupOf(object.apiVersion)}/${object.kind}`))
    .flatMap((object) => fieldsOf(object.toJson() as Scaler, objects));
  const unique = new Map(fields.map((field) => [orderOf(field), field]));
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, field]) => field);
}

function fieldsOf({ apiVersion, metadata, spec = {} }: Scaler, objects: readonly ApiObject[]): readonly ScalerOwnedField[] {
  const namespace = metadata.namespace ?? 'default';
  if (groupOf(apiVersion) !== WORKLOAD_GROUP) {
    const { apiVersion: version = 'apps/v1', kind = 'Deployment', name } = spec.scaleTargetRef ?? {};
    return name === undefined ? [] : [replicasOf({ apiVersion: version, kind, namespace, name })];
  }
  const roles = Object.keys(spec.disaggregatedTarget?.roles ?? {});
  return targetRefs(spec).flatMap(({ field, ref }) => {
    const target = scaleTarget(ref, namespace);
    return field.startsWith('spec.disaggregatedTarget')
      ? roles.flatMap((role) => roleReplicasOf(target, role, objects) ?? [])
      : [replicasOf(target)];
  });
}

function replicasOf({ apiVersion, kind, namespace, name }: ScaleTarget): ScalerOwnedField {
  return { group: groupOf(apiVersion), kind, namespace, name, jsonPointer: '/spec/replicas' };
}

function roleReplicasOf(target: ScaleTarget, role: string, objects: readonly ApiObject[]): ScalerOwnedField | undefined {
  const { apiVersion, kind, namespace, name } = target;
  const shape = ROLES[kind];
  if (shape === undefined) return undefined;
  const written = objects.find(
    (object) => object.kind === kind && object.name === name && (object.metadata.namespace ?? 'default') === namespace,
  );
  const index = written === undefined ? -1 : indexOfRole(written.toJson(), shape.list, role);
  return {
    group: groupOf(apiVersion),
    kind,
    namespace,
    name,
    ...(index === -1 ? {} : { jsonPointer: `/${[...shape.list, index, ...shape.replicas].join('/')}` }),
    jqPathExpression: `.${shape.list.join('.')}[] | select(.name == ${JSON.stringify(role)}) | .${shape.replicas.join('.')}`,
  };
}

function indexOfRole(object: unknown, path: readonly string[], role: string): number {
  const list = path.reduce((value, key) => (value as Readonly<Record<string, unknown>> | undefined)?.[key], object);
  return Array.isArray(list) ? list.findIndex((entry: { readonly name?: unknown } | null) => entry?.name === role) : -1;
}

function orderOf({ group, kind, namespace, name, jqPathExpression = '' }: ScalerOwnedField): string {
  return [group, kind, namespace, name, jqPathExpression].join('\u0000');
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}
