import type { ModelRoute } from '../../../src/api/model-route';
import { explainTargets } from '../../router/routing/explain-match';
import { RouteTable } from '../../router/routing/route-table';
import { type Look, objectsOf } from './look';
import { modelProblems } from './model-problems';
import { distinctPools, type ModelState, type ModelView } from './model-view';
import { type PolicyView, policyViews } from './policy-view';
import { type ServerView, serverViews } from './server-view';

/** The router's own table of the routes in a look. */
export function routeTableOf(look: Pick<Look, 'snapshot'>): RouteTable {
  return new RouteTable({
    routes: objectsOf(look, 'ModelRoute'),
    modelServers: objectsOf(look, 'ModelServer'),
    providers: objectsOf(look, 'ExternalModelProvider'),
  });
}

/** Every model, by name: one for each base model, for each route of adapters alone, and for each ModelServer that no route leads to. Pure. */
export function modelViews(look: Look): readonly ModelView[] {
  const table = routeTableOf(look);
  const servers = serverViews(look);
  const policies = policyViews(look);
  const routes = objectsOf(look, 'ModelRoute');
  const names = new Set(routes.flatMap(({ spec }) => spec.modelName ?? []));
  const groups: { name: string; routes: readonly ModelRoute[] }[] = [
    ...[...names].map((name) => ({ name, routes: table.asked(name).map(({ route }) => route) })),
    ...routes
      .filter(({ spec }) => !spec.modelName)
      .map((route) => ({ name: (route.spec.loraAdapters ?? []).join(', '), routes: [route] })),
  ];
  const routed = groups.map((group) => routedModel(group.name, group.routes, table, servers, policies, look));
  const led = new Set(routed.flatMap((model) => model.servers.map(({ key }) => key)));
  const unrouted = [...servers.values()]
    .filter(({ key }) => !led.has(key))
    .map((view) =>
      complete(
        {
          name: view.server.metadata.name,
          namespace: view.server.metadata.namespace ?? 'default',
          isRouted: false,
          adapters: [],
          rules: [],
          providers: [],
        },
        [view],
        policies,
        look,
      ),
    );
  return [...routed, ...unrouted].sort((a, b) => (`${a.name} ${a.namespace}` < `${b.name} ${b.namespace}` ? -1 : 1));
}

function routedModel(
  name: string,
  routes: readonly ModelRoute[],
  table: RouteTable,
  servers: ReadonlyMap<string, ServerView>,
  policies: readonly PolicyView[],
  look: Look,
): ModelView {
  const rules = routes.flatMap((route) =>
    route.spec.rules.map((rule, index) => ({ route, index, targets: explainTargets(table, route, rule) })),
  );
  const keys = (field: 'modelServerName' | 'externalModelProviderName'): readonly string[] => [
    ...new Set(
      rules.flatMap(({ route, targets }) =>
        targets.flatMap(({ target }) => (target[field] ? [`${route.metadata.namespace ?? 'default'}/${target[field]}`] : [])),
      ),
    ),
  ];
  return complete(
    {
      name,
      namespace: routes[0]!.metadata.namespace ?? 'default',
      isRouted: true,
      adapters: [...new Set(routes.flatMap(({ spec }) => spec.loraAdapters ?? []))],
      rules,
      providers: keys('externalModelProviderName'),
    },
    keys('modelServerName').flatMap((key) => servers.get(key) ?? []),
    policies,
    look,
  );
}

type Bones = Pick<ModelView, 'name' | 'namespace' | 'isRouted' | 'adapters' | 'rules' | 'providers'>;

function complete(bones: Bones, servers: readonly ServerView[], policies: readonly PolicyView[], look: Look): ModelView {
  const pools = distinctPools(servers);
  const workloads = new Set(pools.flatMap(({ workload }) => workload ?? []));
  const own = policies.filter(({ units }) => units.some(({ workload }) => workloads.has(workload)));
  const costs = pools.flatMap(({ costPerHour }) => costPerHour ?? []);
  const podsReady = pools.reduce((sum, pool) => sum + pool.podsReady, 0);
  const wanted = pools.map(
    ({ podsWanted, podsThere, workload }) => podsWanted ?? (workload === undefined ? podsThere : undefined),
  );
  const podsWanted = wanted.reduce<number | undefined>(
    (sum, count) => (sum === undefined || count === undefined ? undefined : sum + count),
    0,
  );
  const model = {
    ...bones,
    servers,
    policies: own,
    podsReady,
    podsWanted,
    costPerHour: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0),
  };
  const state = stateOf(model, look.isLive);
  return { ...model, state, problems: modelProblems({ ...model, state }, look) };
}

function stateOf(model: Omit<ModelView, 'state' | 'problems'>, isLive: boolean): ModelState {
  const { servers, providers, rules, podsReady, podsWanted } = model;
  const hasTarget = rules.some(({ targets }) => targets.some(({ isThere }) => isThere));
  if (!model.isRouted || !hasTarget) return 'Unreachable';
  if (servers.length === 0) return providers.length > 0 ? 'External' : 'Unreachable';
  const pools = distinctPools(servers);
  const there = pools.reduce((sum, pool) => sum + pool.podsThere, 0);
  if (!isLive && there === 0) return 'NotRunning';
  if (podsReady > 0) return podsWanted !== undefined && podsReady < podsWanted ? 'Degraded' : 'Ready';
  if (there === 0 && (podsWanted ?? 0) === 0) {
    return model.policies.some(({ units }) => units.every(({ min }) => min === 0)) ? 'Asleep' : 'Off';
  }
  const isFailing = pools.some(({ notReady }) =>
    notReady.some(({ status }) => /BackOff|Err|Error|OOMKilled|Failed/.test(status)),
  );
  return isFailing ? 'Broken' : 'Starting';
}
