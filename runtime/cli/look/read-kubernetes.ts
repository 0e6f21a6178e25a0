import { type Finding, KvasirError } from '../../../src/errors';
import { type ClusterSnapshot, takeSnapshot } from '../../cluster/cluster-snapshot';
import { openKubernetesCluster } from '../../cluster/kubernetes';
import { chooseCredentials } from '../../cluster/kubernetes/choose-credentials';
import type { KubeconfigChoice } from '../../cluster/kubernetes/kubeconfig-credentials';
import type { Kind } from '../../cluster/objects';
import { createLogger } from '../../lib/logger';
import { wallClock } from '../../lib/wall-clock';

/** What a look shows. What the user may not list, or the cluster does not have, is not seen. */
const KINDS_LOOKED_AT: readonly Kind[] = [
  'ModelRoute',
  'ModelServer',
  'ExternalModelProvider',
  'AutoscalingPolicy',
  'AutoscalingPolicyBinding',
  'ModelServing',
  'Deployment',
  'Pod',
];
/** How long the API may take to list them, and how long what it refuses is tried again. */
const LIST_MS = 10_000;
const REFUSED_MS = 2_000;

/** What a cluster's API showed. */
export interface KubernetesLook {
  /** URL of the API. */
  readonly server: string;
  readonly snapshot: ClusterSnapshot;
  /** What is wrong with single objects. */
  readonly findings: readonly Finding[];
}

/**
 * Lists what there is to look at, with the credentials that kubectl would use.
 *
 * @throws KvasirError when there are no credentials, or nothing could be listed.
 */
export async function readKubernetes(choice: KubeconfigChoice): Promise<KubernetesLook> {
  const credentials = await chooseCredentials(choice, process.env);
  const clock = wallClock();
  const findings: Finding[] = [];
  const troubles = new Map<string, string>();
  const log = createLogger('kvasir', 'warn', {
    write: (line) => {
      const { resource, trouble } = JSON.parse(line) as { readonly resource?: string; readonly trouble?: string };
      if (resource !== undefined && trouble !== undefined) troubles.set(resource, trouble);
    },
  });
  const cluster = openKubernetesCluster({
    credentials,
    component: 'kvasir',
    watch: {
      kinds: KINDS_LOOKED_AT,
      workloads: true,
      wakeRequests: false,
      secrets: { names: [], labels: [], ofProviders: false },
    },
    clock,
    log,
    onFinding: (finding) => void findings.push(finding),
  });
  try {
    const isListed = await cluster.synced(REFUSED_MS);
    const missing = KINDS_LOOKED_AT.filter((kind) => !cluster.objects.freshness(kind).isSynced);
    // Only what is slow is waited for; what is refused would be refused again.
    if (!isListed && missing.length > troubles.size) await cluster.synced(LIST_MS - REFUSED_MS);
    const snapshot = await takeSnapshot(cluster, clock.now(), KINDS_LOOKED_AT);
    if (snapshot.kinds.length > 0) return { server: credentials.server, snapshot, findings };
    throw new KvasirError({
      code: 'cluster/nothing-listed',
      field: '--cluster kubernetes',
      message: `nothing could be listed at ${credentials.server}: ${[...new Set(troubles.values())].join('; ') || 'it did not answer in time'}`,
      remedy: 'see that kubectl get pods -A works with the same kubeconfig and context',
    });
  } finally {
    await cluster.close();
  }
}
