import type { ModelRoute } from '../api/model-route';
import type { ModelServer } from '../api/model-server';
import type { Pod } from '../api/pod';
import type { ServingContext } from '../expand/serving-context';
import type { ObjectSet } from './object-set';

const namespaceOf = ({ metadata }: { readonly metadata: { readonly namespace?: string } }): string =>
  metadata.namespace ?? 'default';

/** Finds the ModelServers that may select a pod and the routes to them, without looking at each for each pod. */
export class ServingIndex {
  /** By namespace and first label of the selector. */
  private readonly servers = new Map<string, ModelServer[]>();
  /** By namespace and name of a server. */
  private readonly routes = new Map<string, ModelRoute[]>();

  constructor(set: ObjectSet) {
    for (const server of set.ofKind('ModelServer')) {
      const [label] = Object.entries(server.spec.workloadSelector.matchLabels ?? {});
      add(this.servers, label === undefined ? namespaceOf(server) : labelKey(namespaceOf(server), label), server);
    }
    for (const route of set.ofKind('ModelRoute')) {
      const names = route.spec.rules.flatMap(({ targetModels, shadow }) =>
        [...targetModels, shadow].flatMap((target) => (target?.modelServerName ? [target.modelServerName] : [])),
      );
      for (const name of new Set(names)) add(this.routes, `${namespaceOf(route)}/${name}`, route);
    }
  }

  /** All routing objects that may concern `pod`. */
  contextOf(pod: Pod): ServingContext {
    const namespace = namespaceOf(pod);
    const keys = [namespace, ...Object.entries(pod.metadata.labels ?? {}).map((label) => labelKey(namespace, label))];
    const modelServers = keys.flatMap((key) => this.servers.get(key) ?? []);
    const routes = modelServers.flatMap((server) => this.routesTo(server));
    return { modelServers, modelRoutes: [...new Set(routes)] };
  }

  routesTo(server: ModelServer): readonly ModelRoute[] {
    return this.routes.get(`${namespaceOf(server)}/${server.metadata.name}`) ?? [];
  }
}

function labelKey(namespace: string, [key, value]: readonly [string, string]): string {
  return `${namespace}/${key}=${value}`;
}

function add<T>(map: Map<string, T[]>, key: string, value: T): void {
  const present = map.get(key);
  if (present === undefined) map.set(key, [value]);
  else present.push(value);
}
