import type { Credentials } from './credentials';
import { inClusterCredentials, isInCluster } from './in-cluster-credentials';
import type { KubeconfigChoice } from './kubeconfig-credentials';

/**
 * As clients of a cluster choose: what was named, then KUBECONFIG, then the pod that this process runs in, then `~/.kube/config`.
 *
 * @throws KvasirError when there are no credentials, or they cannot be used.
 */
export async function chooseCredentials(
  choice: KubeconfigChoice,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Credentials> {
  const isNamed = choice.file !== undefined || choice.context !== undefined || (environment.KUBECONFIG ?? '') !== '';
  if (!isNamed && isInCluster({ environment })) return inClusterCredentials({ environment });
  // The library that reads kubeconfigs is loaded when it is needed only: a pod does without.
  const { kubeconfigCredentials } = require('./kubeconfig-credentials') as typeof import('./kubeconfig-credentials');
  return kubeconfigCredentials(choice);
}
