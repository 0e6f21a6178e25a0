import { distinctPools, type ModelView } from '../look/model-view';
import { counted, UNKNOWN } from '../look/texts';
import type { TableOf } from './table-of';

/** What `kvasir get models` shows. */
export const MODEL_TABLE: TableOf<ModelView> = {
  columns: [
    { title: 'NAMESPACE', cell: ({ namespace }) => namespace, isText: true },
    { title: 'NAME', cell: ({ name }) => name, isText: true },
    { title: 'STATE', cell: ({ state }) => state, isText: true },
    { title: 'PODS', cell: podsText, isText: true },
    { title: 'REPLICAS', cell: boundsText, isText: true },
    { title: 'COST/H', cell: ({ costPerHour }) => costPerHour?.toFixed(2) ?? UNKNOWN, isText: true },
    { title: 'PROBLEMS', cell: problemsText, isText: true },
    {
      title: 'SERVERS',
      cell: ({ servers }) => servers.map(({ server }) => server.metadata.name).join(',') || UNKNOWN,
      isText: true,
      isWide: true,
    },
    { title: 'GPUS', cell: gpusText, isText: true, isWide: true },
    { title: 'ADAPTERS', cell: ({ adapters }) => adapters.join(',') || UNKNOWN, isText: true, isWide: true },
  ],
  document: (model) => ({
    name: model.name,
    namespace: model.namespace,
    state: model.state,
    isRouted: model.isRouted,
    adapters: model.adapters,
    routes: [...new Set(model.rules.map(({ route }) => `${route.metadata.namespace ?? 'default'}/${route.metadata.name}`))],
    servers: model.servers.map(({ key }) => key),
    providers: model.providers,
    policies: model.policies.map(({ name }) => name),
    pods: { ready: model.podsReady, wanted: model.podsWanted ?? null },
    replicas: boundsOf(model) ?? null,
    costPerHour: model.costPerHour ?? null,
    problems: model.problems,
  }),
};

/** Ready of wanted; a dash for a count that nobody told. */
export function podsText({ podsReady, podsWanted, servers, state }: ModelView): string {
  if (servers.length === 0) return UNKNOWN;
  return `${state === 'NotRunning' ? UNKNOWN : podsReady}/${podsWanted ?? UNKNOWN}`;
}

/** Bounds of the policies that scale the model's workloads, added up; undefined where none does. */
export function boundsOf({ policies, servers }: ModelView): { readonly min: number; readonly max: number } | undefined {
  const workloads = new Set(distinctPools(servers).flatMap(({ workload }) => workload ?? []));
  const units = policies.flatMap((policy) => policy.units).filter(({ workload }) => workloads.has(workload));
  if (units.length === 0) return undefined;
  return { min: units.reduce((sum, { min }) => sum + min, 0), max: units.reduce((sum, { max }) => sum + max, 0) };
}

/** Replicas that are asked for, and the bounds behind them. */
function boundsText(model: ModelView): string {
  const bounds = boundsOf(model);
  const replicas = distinctPools(model.servers).map((pool) => pool.replicas);
  const known = replicas.length > 0 && replicas.every((count) => count !== undefined);
  const sum = known ? String(replicas.reduce((total, count) => total! + count!, 0)) : UNKNOWN;
  return bounds === undefined ? sum : `${sum} (${bounds.min}–${bounds.max})`;
}

function gpusText({ servers }: ModelView): string {
  const classes = distinctPools(servers).flatMap(({ accelerator, gpusPerPod }) =>
    accelerator === undefined ? [] : [`${gpusPerPod ?? 1}×${accelerator}`],
  );
  return [...new Set(classes)].join(',') || UNKNOWN;
}

function problemsText({ problems }: ModelView): string {
  const of = (severity: 'error' | 'warning'): number => problems.filter((problem) => problem.severity === severity).length;
  const parts = [
    of('error') > 0 ? counted(of('error'), 'error') : [],
    of('warning') > 0 ? counted(of('warning'), 'warning') : [],
  ].flat();
  return parts.join(', ') || UNKNOWN;
}
