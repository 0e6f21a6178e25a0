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
  /** Keys of those labels. */
  private readonly labelKeys = new Set<string>();
  /** By namespace and name of a server. */
  private readonly routes = new Map<string, ModelRoute[]>();

  constructor(set: ObjectSet) {
    for (const server of set.ofKind('ModelServer')) {
      const [label] = Object.entries(server.spec.workloadSelector.matchLabels ?? {});
      if (label !== undefined) this.labelKeys.add(label[0]);
      add(this.servers, label === undefined ? namespaceOf(server) : placeOf(namespaceOf(server), ...label), server);
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
    const modelServers = [...(this.servers.get(namespace) ?? [])];
    const { labels = {} } = pod.metadata;
    for (const key of Object.keys(labels)) {
      if (this.labelKeys.has(key)) modelServers.push(...(this.servers.get(placeOf(namespace, key, labels[key]!)) ?? []));
    }
    const routes = modelServers.flatMap((server) => this.routesTo(server));
    return { modelServers, modelRoutes: [...new Set(routes)] };
  }

  routesTo(server: ModelServer): readonly ModelRoute[] {
    return this.routes.get(`${namespaceOf(server)}/${server.metadata.name}`) ?? [];
  }
}

function placeOf(namespace: string, label: string, value: string): string {
  return `${namespace}/${label}=${value}`;
}

function add<T>(map: Map<string, T[]>, key: string, value: T): void {
  const present = map.get(key);
  if (present === undefined) map.set(key, [value]);
  else present.push(value);
}
