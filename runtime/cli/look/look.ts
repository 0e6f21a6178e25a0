import { checkReferences } from '../../../src/checks';
import { type Finding, KvasirError } from '../../../src/errors';
import type { ExplainedRound } from '../../autoscaler/report/explain-ring';
import { type ClusterSnapshot, takeSnapshot } from '../../cluster/cluster-snapshot';
import { openManifestCluster } from '../../cluster/manifests';
import type { Kind, KindMap } from '../../cluster/objects';
import { parseListenAddress } from '../../lib/http-listen';
import { wallClock } from '../../lib/wall-clock';
import type { EndpointStatus } from '../../router/scheduling/scheduling';
import { readFolders } from '../manifests/read-folders';
import { validateManifests } from '../validate/validate-manifests';
import { DebugPort } from './debug-port';
import type { LookFlags } from './look-options';
import { readKubernetes } from './read-kubernetes';

/** Where the debug ports of router and autoscaler are, unless something else is said: there the preview has them. */
export const ROUTER_DEBUG = '127.0.0.1:15000';
export const AUTOSCALER_DEBUG = '127.0.0.1:15001';

/** What the commands that look at a platform see of it, read once. */
export interface Look {
  /** Where it was read, for people. */
  readonly from: string;
  readonly snapshot: ClusterSnapshot;
  /** Whether pods run there. A folder says what is wanted, and has no other pods than those that it gives with an address. */
  readonly isLive: boolean;
  /** What is wrong with the objects, by themselves and together. */
  readonly findings: readonly Finding[];
  /** Absent where no router was asked. */
  readonly router?: DebugPort;
  /** What that router sees of its endpoints, by `namespace/name` of the pod. */
  readonly endpoints?: ReadonlyMap<string, EndpointStatus>;
  /** Absent where no autoscaler was asked, or none answered. */
  readonly autoscaler?: DebugPort;
  /** Its last round for each policy, by `Kind namespace/name`. */
  readonly rounds?: ReadonlyMap<string, ExplainedRound>;
}

/** When the look was taken, to tell ages by; empty where objects have none, as in a folder. */
export const nowOf = ({ snapshot, isLive }: Look): string => (isLive ? snapshot.at : '');

/** Objects of a kind in a look; none where that kind cannot be seen. */
export function objectsOf<K extends Kind>(look: Pick<Look, 'snapshot'>, kind: K): readonly KindMap[K][] {
  return (look.snapshot.objects[kind] ?? []) as readonly KindMap[K][];
}

/**
 * Reads the source that the flags name, and the debug ports beside it.
 *
 * @throws KvasirError when the source cannot be read, or nobody answers at a debug port that was named.
 */
export async function openLook(flags: LookFlags): Promise<Look> {
  const router = routerPort(flags);
  const source = flags.cluster.length > 0 ? await readCluster(flags) : await readRouter(router!);
  return { ...source, ...(router && (await seenByRouter(router))), ...(await seenByAutoscaler(flags)) };
}

type Source = Pick<Look, 'from' | 'snapshot' | 'isLive' | 'findings'>;

async function readCluster({ cluster: paths, kubeconfig, context }: LookFlags): Promise<Source> {
  if (paths.includes('kubernetes')) {
    if (paths.length > 1) throw wrongFlags('--cluster', 'names a cluster and folders', 'look at one of them at a time');
    const { server, snapshot, findings } = await readKubernetes({
      ...(kubeconfig !== undefined && { file: kubeconfig }),
      ...(context !== undefined && { context }),
    });
    return { from: `the cluster at ${server}`, snapshot, isLive: true, findings: [...findings, ...referencesIn(snapshot)] };
  }
  const flag = kubeconfig !== undefined ? '--kubeconfig' : context !== undefined ? '--context' : undefined;
  if (flag !== undefined)
    throw wrongFlags(flag, `is for a Kubernetes API, and --cluster ${paths[0]} is a folder`, 'leave it out');
  const set = await readFolders(paths);
  const { open } = validateManifests(set);
  const clock = wallClock();
  const cluster = await openManifestCluster({ paths, clock });
  try {
    const snapshot = await takeSnapshot(cluster, clock.now());
    return { from: paths.join(', '), snapshot, isLive: false, findings: open };
  } finally {
    await cluster.close();
  }
}

function wrongFlags(field: string, message: string, remedy: string): KvasirError {
  return new KvasirError({ code: 'cluster/flags', field, message, remedy });
}

async function readRouter(router: DebugPort): Promise<Source> {
  const snapshot = await router.page<ClusterSnapshot>('/debug/cluster');
  const { findings: told } = await router.page<{ readonly findings: readonly Finding[] }>('/debug/findings');
  return { from: `the router at ${router.name}`, snapshot, isLive: true, findings: [...referencesIn(snapshot), ...told] };
}

/** Whether a selector finds pods is judged by the pods themselves, and scaling by what its autoscaler says. */
function referencesIn(snapshot: ClusterSnapshot): readonly Finding[] {
  const checked = Object.values(snapshot.objects).flatMap((objects) => objects.map((object) => ({ object })));
  return checkReferences(checked).filter(({ code }) => code.startsWith('routing/') && code !== 'routing/no-pods');
}

function routerPort({ cluster, router }: LookFlags): DebugPort | undefined {
  if (router === undefined && cluster.length > 0) return undefined;
  return new DebugPort(
    parseListenAddress(router ?? ROUTER_DEBUG, '--router'),
    '--router',
    'start kvasir preview or a port-forward to a router, or give --cluster with kubernetes or a folder of manifests',
  );
}

async function seenByRouter(router: DebugPort): Promise<Pick<Look, 'router' | 'endpoints'>> {
  const { endpoints } = await router.page<{ readonly endpoints: readonly EndpointStatus[] }>('/debug/endpoints');
  return {
    router,
    endpoints: new Map(endpoints.map((each) => [`${each.endpoint.pod.namespace}/${each.endpoint.pod.name}`, each])),
  };
}

/** One that was not named may not be there. */
async function seenByAutoscaler({ cluster, autoscaler: named }: LookFlags): Promise<Pick<Look, 'autoscaler' | 'rounds'>> {
  if (named === undefined && cluster.length > 0) return {};
  const autoscaler = new DebugPort(
    parseListenAddress(named ?? AUTOSCALER_DEBUG, '--autoscaler'),
    '--autoscaler',
    'start one, or a port-forward to it',
  );
  try {
    const { rounds } = await autoscaler.page<{ readonly rounds: readonly ExplainedRound[] }>('/debug/explain');
    return { autoscaler, rounds: new Map(rounds.map((round) => [round.policy, round])) };
  } catch (error) {
    if (named === undefined) return {};
    throw error;
  }
}
