import { keyOf } from '../../../src/api/meta';
import type { ModelRoute } from '../../../src/api/model-route';
import type { Finding } from '../../../src/errors';
import type { ExplainedTarget } from '../../router/routing/explain-match';
import type { PolicyView } from './policy-view';
import type { ServerView } from './server-view';

/** One rule of a route, and where it sends requests. */
export interface RuleView {
  readonly route: ModelRoute;
  readonly index: number;
  readonly targets: readonly ExplainedTarget[];
}

/**
 * `NotRunning`: a folder, which runs nothing. `Unreachable`: no route or no target. `Off`: no replicas are asked for, and nothing would
 * bring them back. `Broken`: pods are there and none is ready.
 */
export type ModelState =
  | 'Ready'
  | 'Degraded'
  | 'Starting'
  | 'Asleep'
  | 'Off'
  | 'Broken'
  | 'Unreachable'
  | 'External'
  | 'NotRunning';

/** A model as clients know it, with everything that leads to its pods and says how many there are. */
export interface ModelView {
  /** What clients ask for; of a ModelServer that no route leads to, its own name. */
  readonly name: string;
  readonly namespace: string;
  readonly isRouted: boolean;
  readonly adapters: readonly string[];
  /** Rules in the order in which they are asked. */
  readonly rules: readonly RuleView[];
  readonly servers: readonly ServerView[];
  /** `namespace/name` of providers that a rule names. */
  readonly providers: readonly string[];
  readonly policies: readonly PolicyView[];
  readonly podsReady: number;
  /** Undefined where it is not known how many there should be. */
  readonly podsWanted: number | undefined;
  readonly costPerHour: number | undefined;
  readonly state: ModelState;
  readonly problems: readonly Finding[];
}

/** Pools of several servers of one model, each once. */
export function distinctPools(servers: readonly ServerView[]): readonly ServerView['pools'][number][] {
  const pools = new Map(servers.flatMap(({ key, pools: own }) => own.map((pool) => [pool.workload ?? key, pool])));
  return [...pools.values()];
}

/** Models of a namespace, or all. */
export function modelsIn(models: readonly ModelView[], namespace: string | undefined): readonly ModelView[] {
  return namespace === undefined ? models : models.filter((model) => model.namespace === namespace);
}

/** `namespace/name` of what a target of a route names. */
export function targetKey(route: ModelRoute, { modelServerName, externalModelProviderName }: ExplainedTarget['target']): string {
  return keyOf({ metadata: { ...route.metadata, name: modelServerName || (externalModelProviderName ?? '') } });
}
