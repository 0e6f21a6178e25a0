import { selects } from '../../../src/api/meta';
import type { ModelServer } from '../../../src/api/model-server';
import type { Pod } from '../../../src/api/pod';
import { ENGINES, engineOfApiName } from '../../../src/catalog/engines/engine-table';
import { Labels } from '../../../src/labels';
import type { Objects } from '../../cluster/objects';
import type { Workloads } from '../../cluster/workloads';
import type { Rest } from '../decide/observation';
import type { PolicyUnit } from '../policy';
import type { PodPages } from './pod-pages';
import { modelsOf, type Routers, readRouters, totalOf } from './router-pages';
import { podState } from './target-pods';
import type { WakeWatch } from './wake-watch';

/** What it takes to know whether a target may rest. */
export interface RestView {
  readonly objects: Objects;
  readonly workloadPods: Workloads;
  readonly wakes: WakeWatch;
}

const IDLE_CONCEPTS = ['running', 'waiting'] as const;

/** Families that tell whether an engine of the catalogue has requests. */
export const IDLE_FAMILIES: ReadonlySet<string> = new Set(
  Object.values(ENGINES).flatMap(({ metrics }) =>
    IDLE_CONCEPTS.flatMap((concept) => (metrics[concept] ?? []).map(({ name }) => name)),
  ),
);

/** Requests that a router has, by the model that clients name. */
export const ROUTER_REQUESTS = 'kthena_router_active_downstream_requests';

/** Whether requests wait for a target, or would be held for it if it had no replicas. */
export function wakeOf(unit: PolicyUnit, uid: string, view: RestView): Rest['wake'] {
  if (view.wakes.isWanted(uid)) return 'wanted';
  return serversOf(unit, view).length > 0 ? 'possible' : 'impossible';
}

/**
 * Why the engines of a target that has replicas may not all be taken away, though metrics ask for none; undefined: they are idle, and no
 * router has a request for them.
 */
export async function busyOf(
  unit: PolicyUnit,
  pods: readonly Pod[],
  view: RestView & { readonly pages: PodPages; readonly routers: Routers },
): Promise<string | undefined> {
  const servers = serversOf(unit, view);
  const asked = pods
    .filter((pod) => podState(pod) === 'ready')
    .flatMap((pod) => {
      const server = servers.find((candidate) =>
        selects({ matchLabels: candidate.spec.workloadSelector.matchLabels ?? {} }, pod.metadata.labels),
      );
      return server === undefined ? [] : [{ pod, server }];
    });
  const reasons = await Promise.all([
    ...asked.map(({ pod, server }) => whyBusy(pod, server, view.pages)),
    whyRoutersAreBusy(modelsOf(servers, unit.target.namespace, view.objects), view),
  ]);
  return reasons.find((reason) => reason !== undefined);
}

/** A request is a router's before an engine knows of it: while it is read, waits for room, or is tried again. */
async function whyRoutersAreBusy(
  models: ReadonlySet<string>,
  view: RestView & { readonly pages: PodPages; readonly routers: Routers },
): Promise<string | undefined> {
  // One that is draining has its last requests still.
  for (const { name, page } of await readRouters(view, (pod) => pod.status?.phase === 'Running')) {
    if (page.kind === 'unreachable') return `whether ${name} has requests cannot be read: ${page.reason}`;
    if (totalOf(page.page.get(ROUTER_REQUESTS), models) > 0) return `${name} has requests`;
  }
  return undefined;
}

async function whyBusy(pod: Pod, { spec }: ModelServer, pages: PodPages): Promise<string | undefined> {
  const { name } = pod.metadata;
  const requests = await requestsOf(pod, spec, pages);
  if (requests === 'unreachable') return `whether pod ${name} is idle cannot be read`;
  if (requests === 'silent') return `pod ${name} does not tell how many requests it has`;
  return requests > 0 ? `pod ${name} has requests` : undefined;
}

/** Requests that an engine runs and that wait in it. */
export async function requestsOf(
  pod: Pod,
  { inferenceEngine, workloadPort }: ModelServer['spec'],
  pages: PodPages,
): Promise<number | 'unreachable' | 'silent'> {
  const engine = engineOfApiName(inferenceEngine);
  const answer = await pages.read(pod, workloadPort.port, engine.metricsPath);
  if (answer.kind === 'unreachable') return 'unreachable';
  const counts = IDLE_CONCEPTS.map((concept) => {
    const families = (engine.metrics[concept] ?? []).flatMap((family) => answer.page.get(family.name) ?? []);
    return families.flatMap((family) => (family.type === 'gauge' ? [...family.series.values()] : []));
  });
  if (counts[0]!.length === 0) return 'silent';
  return counts.flat().reduce((sum, count) => sum + count, 0);
}

/** ModelServers whose requests pods of the target would serve. */
export function serversOf(
  { target, role }: PolicyUnit,
  { objects, workloadPods }: Pick<RestView, 'objects' | 'workloadPods'>,
): readonly ModelServer[] {
  const labels = workloadPods
    .podsOf(target)
    .map(({ metadata }) => metadata.labels ?? {})
    .filter((each) => role === undefined || each[Labels.modelServingRole] === role);
  return objects.list('ModelServer', { namespace: target.namespace }).filter(({ spec: { workloadSelector } }) => {
    const { matchLabels = {} } = workloadSelector;
    return Object.keys(matchLabels).length > 0 && labels.some((each) => selects({ matchLabels }, each));
  });
}
