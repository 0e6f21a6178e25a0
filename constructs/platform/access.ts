import { Chart } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { ownedLabels } from '../owned-labels';

/** What an image may do to some kinds of a group. */
export interface AccessRule {
  readonly group: string;
  readonly resources: readonly string[];
  /** Only objects of these names; lists and watches must then ask for one name each. @default every object */
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** Reading from a cache. */
export const READ = ['get', 'list', 'watch'] as const;

/**
 * Creates a ServiceAccount, and roles bound to it: `everywhere` in the whole cluster, since models live in namespaces of their own, and
 * `atHome` in the namespace of the chart.
 */
export function grantAccess(
  scope: Construct,
  name: string,
  everywhere: readonly AccessRule[],
  atHome: readonly AccessRule[] = [],
): void {
  const labels = ownedLabels({ app: name });
  const namespace = Chart.of(scope).namespace ?? 'default';
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  const apiGroup = 'rbac.authorization.k8s.io';
  new k8s.KubeServiceAccount(scope, 'ServiceAccount', { metadata: { name, labels } });
  // Cluster-wide names carry the namespace, so that two installations do not share one.
  const clusterName = `${namespace}:${name}`;
  new k8s.KubeClusterRole(scope, 'ClusterRole', { metadata: { name: clusterName, labels }, rules: everywhere.map(policyRule) });
  new k8s.KubeClusterRoleBinding(scope, 'ClusterRoleBinding', {
    metadata: { name: clusterName, labels },
    roleRef: { apiGroup, kind: 'ClusterRole', name: clusterName },
    subjects,
  });
  if (atHome.length === 0) return;
  new k8s.KubeRole(scope, 'Role', { metadata: { name, labels }, rules: atHome.map(policyRule) });
  new k8s.KubeRoleBinding(scope, 'RoleBinding', {
    metadata: { name, labels },
    roleRef: { apiGroup, kind: 'Role', name },
    subjects,
  });
}

function policyRule({ group, resources, resourceNames, verbs }: AccessRule): k8s.PolicyRule {
  return {
    apiGroups: [group],
    resources: [...resources],
    ...(resourceNames === undefined ? {} : { resourceNames: [...resourceNames] }),
    verbs: [...verbs],
  };
}
