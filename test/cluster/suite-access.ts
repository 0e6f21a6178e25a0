import type { Credentials } from '../../runtime/cluster/kubernetes/credentials';
import type { KubeObject } from '../../src/api/meta';
import { NETWORKING_GROUP, WORKLOAD_GROUP } from '../../src/labels';
import type { KubeAdmin } from './kube-admin';

const READ = ['get', 'list', 'watch'];
const API_GROUP = 'rbac.authorization.k8s.io';
const NAME = 'kvasir-suite';

/** All that a cluster source reads, of every namespace. */
const READS = [
  {
    apiGroups: [NETWORKING_GROUP, WORKLOAD_GROUP, 'leaderworkerset.x-k8s.io', 'disaggregatedset.x-k8s.io'],
    resources: ['*'],
    verbs: READ,
  },
  { apiGroups: [''], resources: ['pods', 'secrets', 'resourcequotas'], verbs: READ },
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets'], verbs: READ },
  { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: READ },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: READ },
];

/** All that it writes. */
const WRITES = [
  { apiGroups: ['apps'], resources: ['deployments/scale'], verbs: ['get', 'update'] },
  { apiGroups: ['apps'], resources: ['deployments/status'], verbs: ['patch'] },
  { apiGroups: [WORKLOAD_GROUP], resources: ['modelservings/scale'], verbs: ['get', 'update'] },
  { apiGroups: [WORKLOAD_GROUP], resources: ['modelservings'], verbs: ['patch'] },
  { apiGroups: [WORKLOAD_GROUP], resources: ['autoscalingpolicies/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create', 'patch'] },
];

/** A ServiceAccount that may read everywhere, and write in `namespaces` only. */
export async function grantSuiteAccess(admin: KubeAdmin, namespaces: readonly string[]): Promise<Credentials> {
  const credentials = await admin.serviceAccount('default', NAME);
  const subjects = [{ kind: 'ServiceAccount', name: NAME, namespace: 'default' }];
  const role = (name: string, rules: readonly object[]): KubeObject & { readonly rules: readonly object[] } => ({
    apiVersion: `${API_GROUP}/v1`,
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  });
  const binding = (kind: string, name: string, metadata: object): KubeObject =>
    ({
      apiVersion: `${API_GROUP}/v1`,
      kind,
      metadata: { name, ...metadata },
      roleRef: { apiGroup: API_GROUP, kind: 'ClusterRole', name },
      subjects,
    }) as KubeObject;
  await admin.apply(
    role(`${NAME}-reads`, READS),
    role(`${NAME}-writes`, WRITES),
    binding('ClusterRoleBinding', `${NAME}-reads`, {}),
    ...namespaces.map((namespace) => binding('RoleBinding', `${NAME}-writes`, { namespace })),
  );
  return credentials;
}
