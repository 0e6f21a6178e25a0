import { selects } from '../api/meta';
import type { ModelRoute } from '../api/model-route';
import type { ModelServer } from '../api/model-server';
import type { Pod } from '../api/pod';

/** The routing objects that say what a pod serves when the pod itself does not. */
export interface ServingContext {
  readonly modelServers: readonly ModelServer[];
  readonly modelRoutes: readonly ModelRoute[];
}

/** What the routing objects expect of one pod. */
export interface PodService {
  /** ModelServers of the pod's namespace that select it, in the order given. */
  readonly servers: readonly ModelServer[];
  /** Names of `spec.model` of those servers, each once. */
  readonly models: readonly string[];
  /** Model names of routes that target one of those servers. */
  readonly routedModels: readonly string[];
  /** Adapters of those routes, each once. */
  readonly adapters: readonly string[];
}

const namespaceOf = (object: { readonly metadata: { readonly namespace?: string } }) => object.metadata.namespace ?? 'default';

/** Gathers what `context` expects of `pod`. References never leave a namespace. */
export function serviceOf(pod: Pod, context: ServingContext): PodService {
  const namespace = namespaceOf(pod);
  const servers = context.modelServers.filter(
    (server) =>
      namespaceOf(server) === namespace &&
      selects({ matchLabels: server.spec.workloadSelector.matchLabels }, pod.metadata.labels),
  );
  const names = new Set(servers.map((server) => server.metadata.name));
  const routes =
    names.size === 0 ? [] : context.modelRoutes.filter((route) => namespaceOf(route) === namespace && targets(route, names));
  return {
    servers,
    models: unique(servers.map(({ spec }) => spec.model)),
    routedModels: unique(routes.map(({ spec }) => spec.modelName)),
    adapters: unique(routes.flatMap(({ spec }) => spec.loraAdapters ?? [])),
  };
}

function targets(route: ModelRoute, servers: ReadonlySet<string>): boolean {
  return route.spec.rules.some((rule) => rule.targetModels.some(({ modelServerName }) => servers.has(modelServerName ?? '')));
}

/** Each non-empty text once, in order. */
function unique(texts: readonly (string | undefined)[]): readonly string[] {
  return [...new Set(texts.filter((text): text is string => text !== undefined && text !== ''))];
}
