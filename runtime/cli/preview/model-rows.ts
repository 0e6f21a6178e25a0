import { keyOf, selects } from '../../../src/api/meta';
import type { ModelServer } from '../../../src/api/model-server';
import { isPodReady, type Pod } from '../../../src/api/pod';
import { scaleTarget } from '../../../src/api/scale-target';
import { costPerHourOf } from '../../../src/expand';
import type { Objects } from '../../cluster/objects';
import { isPodOf } from '../../cluster/pods-of-workload';
import type { ModelRow } from './live-table';
import type { SimulatedPod } from './simulated-pods';
import type { Traffic } from './traffic';

/** One row for each ModelServer, by name. */
export function modelRows(objects: Objects, engines: readonly SimulatedPod[], traffic: Traffic): ModelRow[] {
  return objects
    .list('ModelServer')
    .map((server) => rowOf(server, objects, engines, traffic))
    .sort((a, b) => (a.model < b.model ? -1 : a.model > b.model ? 1 : 0));
}

/** Price of all pods of all ModelServers together, in currency units per hour; undefined when no pod has a price. */
export function totalCostPerHour(rows: readonly ModelRow[]): number | undefined {
  const known = rows.flatMap(({ costPerHour }) => (costPerHour === undefined ? [] : [costPerHour]));
  return known.length === 0 ? undefined : known.reduce((sum, cost) => sum + cost, 0);
}

function rowOf(server: ModelServer, objects: Objects, engines: readonly SimulatedPod[], traffic: Traffic): ModelRow {
  const pods = podsOf(server, objects);
  const uids = new Set(pods.map(({ metadata }) => metadata.uid));
  const stats = engines.filter(({ pod }) => uids.has(pod.metadata.uid)).map(({ engine }) => engine.stats());
  const costs = pods.flatMap((pod) => costPerHourOf(pod) ?? []);
  const { cacheHit, ttftP50Ms, ttftP90Ms } = traffic.of(keyOf(server));
  return {
    model: nameOf(server, objects),
    podsReady: pods.filter(isPodReady).length,
    podsWanted: pods.length,
    running: stats.reduce((sum, { running }) => sum + running, 0),
    waiting: stats.reduce((sum, { waiting }) => sum + waiting, 0),
    cacheHit,
    ttftP50Ms,
    ttftP90Ms,
    replicas: pods.length,
    ...scalingOf(pods, objects),
    costPerHour: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0),
  };
}

function podsOf(server: ModelServer, objects: Objects): readonly Pod[] {
  const { namespace } = server.metadata;
  return objects
    .list('Pod', namespace === undefined ? {} : { namespace })
    .filter((pod) => pod.metadata.deletionTimestamp === undefined && selects(server.spec.workloadSelector, pod.metadata.labels));
}

/** The name that clients use, and the server's own where that differs. */
function nameOf(server: ModelServer, objects: Objects): string {
  const { namespace, name } = server.metadata;
  const routes = objects
    .list('ModelRoute', namespace === undefined ? {} : { namespace })
    .filter(({ spec }) =>
      spec.rules.some(({ targetModels }) => targetModels.some(({ modelServerName }) => modelServerName === name)),
    )
    .flatMap(({ spec }) => (spec.modelName === undefined ? (spec.loraAdapters ?? []) : [spec.modelName]));
  const names = [...new Set(routes)].sort().join(', ');
  if (names === '') return `${name} (no route)`;
  return names === name ? names : `${names} → ${name}`;
}

/** Bounds of the policies that scale the workloads of these pods, added up, and what they scale. */
function scalingOf(pods: readonly Pod[], objects: Objects): Pick<ModelRow, 'bounds' | 'targets'> {
  const namespace = pods[0]?.metadata.namespace ?? 'default';
  const scaled = objects
    .list('AutoscalingPolicy', { namespace })
    .flatMap(({ spec: { homogeneousTarget, heterogeneousTarget } }) =>
      [...(homogeneousTarget === undefined ? [] : [homogeneousTarget]), ...(heterogeneousTarget?.params ?? [])].flatMap(
        ({ target, minReplicas, maxReplicas }) => {
          if (target === undefined) return [];
          const workload = scaleTarget(target.targetRef, namespace);
          const deployment =
            workload.kind === 'Deployment' ? objects.get('Deployment', workload.namespace, workload.name) : undefined;
          return pods.some((pod) => isPodOf(workload, pod, deployment))
            ? [{ name: `${workload.kind} ${workload.namespace}/${workload.name}`, minReplicas, maxReplicas }]
            : [];
        },
      ),
    );
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  return {
    targets: scaled.map(({ name }) => name),
    bounds:
      scaled.length === 0
        ? undefined
        : { min: sum(scaled.map(({ minReplicas }) => minReplicas)), max: sum(scaled.map(({ maxReplicas }) => maxReplicas)) },
  };
}
