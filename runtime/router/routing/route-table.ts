import type { ExternalModelProvider } from '../../../src/api/external-model-provider';
import { keyOf } from '../../../src/api/meta';
import type { ModelRoute, Rule, TargetModel } from '../../../src/api/model-route';
import type { ModelServer } from '../../../src/api/model-server';
import type { Finding } from '../../../src/errors';
import type { Random } from '../../lib/random';
import { type CompiledRoute, compareRoutes, compileRoute, type RuleInput } from './compiled-route';
import { weightedDraw } from './weighted-draw';

/** What of a request decides its route. */
export interface RouteQuery extends RuleInput {
  readonly method: string;
  /** Draws among weighted targets. */
  readonly random: Random;
}

export type MatchedTarget =
  | { readonly kind: 'modelServer'; readonly modelServer: ModelServer }
  | { readonly kind: 'provider'; readonly provider: ExternalModelProvider };

/** A target of a rule that exists. */
export interface OtherTarget {
  readonly drawn: TargetModel;
  readonly target: MatchedTarget;
}

export type UnmatchedReason =
  /** No route names the model. */
  | 'unknown-model'
  /** Routes name the model, and no rule of theirs matches this request. */
  | 'no-rule'
  /** Only routes that are bound to Gateways name the model. */
  | 'gateway-only'
  /** A rule matched whose weights are all zero. */
  | 'no-weight'
  /** The drawn ModelServer does not exist. */
  | 'missing-model-server'
  /** The drawn ExternalModelProvider does not exist. */
  | 'missing-provider';

export type RouteMatch =
  | {
      readonly kind: 'matched';
      readonly route: ModelRoute;
      readonly rule: Rule;
      readonly target: MatchedTarget;
      /** Target of the rule that it stands for. */
      readonly drawn: TargetModel;
      /** The client asked for an adapter: its name goes upstream unchanged. */
      readonly isAdapter: boolean;
    }
  | { readonly kind: 'unmatched'; readonly reason: UnmatchedReason; readonly message: string };

/** A name that clients may ask for. */
export interface ModelName {
  readonly id: string;
  /** Base model's name, for an adapter whose route also serves one. */
  readonly parent?: string;
}

/** The objects that a table is built from. */
export interface RouteObjects {
  readonly routes: readonly ModelRoute[];
  readonly modelServers: readonly ModelServer[];
  readonly providers: readonly ExternalModelProvider[];
}

type RoutesByName = ReadonlyMap<string, readonly CompiledRoute[]>;

/** Which route, rule and target a request takes. `update` swaps in a new view of the cluster as a whole. */
export class RouteTable {
  private byModel: RoutesByName = new Map();
  private byAdapter: RoutesByName = new Map();
  private servers: ReadonlyMap<string, ModelServer> = new Map();
  private providers: ReadonlyMap<string, ExternalModelProvider> = new Map();
  private compiled: ReadonlyMap<ModelRoute, CompiledRoute> = new Map();
  private byKey: ReadonlyMap<string, ModelRoute> = new Map();
  private names: readonly ModelName[] = [];

  constructor(objects: RouteObjects = { routes: [], modelServers: [], providers: [] }) {
    this.update(objects);
  }

  /** Builds the table anew; a route that is the same value as before keeps its compiled conditions. */
  update(objects: RouteObjects): void {
    const compiled = new Map(objects.routes.map((route) => [route, this.compiled.get(route) ?? compileRoute(route)]));
    const ordered = [...compiled.values()].sort(compareRoutes);
    this.compiled = compiled;
    this.byKey = new Map(ordered.map(({ key, route }) => [key, route]));
    this.byModel = groupBy(ordered, ({ route }) => (route.spec.modelName ? [route.spec.modelName] : []));
    this.byAdapter = groupBy(ordered, ({ route }) => route.spec.loraAdapters ?? []);
    this.servers = new Map(objects.modelServers.map((server) => [keyOf(server), server]));
    this.providers = new Map(objects.providers.map((provider) => [keyOf(provider), provider]));
    this.names = listNames(this.byModel, this.byAdapter);
  }

  /**
   * The oldest route that names the model and has a matching rule decides. Adapter routes are tried only when no route names the
   * model as its base.
   */
  match(query: RouteQuery): RouteMatch {
    const base = this.byModel.get(query.model);
    const candidates = base ?? this.byAdapter.get(query.model);
    if (candidates === undefined) {
      return unmatched('unknown-model', `no ModelRoute serves the model ${JSON.stringify(query.model)}`);
    }
    let zeroWeight: CompiledRoute | undefined;
    let isGatewayOnly = true;
    for (const candidate of candidates) {
      if (candidate.isForGateways) continue;
      isGatewayOnly = false;
      const rule = candidate.rules.find((each) => each.matches(query))?.rule;
      if (rule === undefined) continue;
      const drawn = weightedDraw(rule.targetModels, query.random.next());
      if (drawn !== undefined) return this.resolve(candidate.route, rule, drawn, base === undefined, query.random);
      zeroWeight ??= candidate;
    }
    if (zeroWeight !== undefined) {
      return unmatched('no-weight', `the weights of the matching rule of ModelRoute ${zeroWeight.key} are all zero`);
    }
    const keys = candidates.map(({ key }) => key).join(', ');
    if (isGatewayOnly) return unmatched('gateway-only', `ModelRoute ${keys} serves only the Gateways in its parentRefs`);
    return unmatched('no-rule', `no rule of ModelRoute ${keys} matches this request`);
  }

  /** Routes that name the model, in the order in which they are asked: those of the base model, else those of the adapter. */
  asked(model: string): readonly CompiledRoute[] {
    return this.byModel.get(model) ?? this.byAdapter.get(model) ?? [];
  }

  /** Every base model and adapter, sorted by name and each once; a name that is both is listed as the base model that answers it. */
  modelNames(): readonly ModelName[] {
    return this.names;
  }

  /** Whether this value is a current route's. */
  has(route: ModelRoute): boolean {
    return this.compiled.has(route);
  }

  /** The current route of that name. @param key `namespace/name`. */
  named(key: string): ModelRoute | undefined {
    return this.byKey.get(key);
  }

  /** Conditions of the current routes that do not compile. */
  findings(): readonly Finding[] {
    return [...this.compiled.values()].flatMap(({ findings }) => findings);
  }

  /**
   * Another target of a rule, for a request whose drawn target has nobody: drawn by weight among those that exist. A target of weight 0
   * is never one.
   *
   * @param tried targets that are left out.
   */
  another(route: ModelRoute, rule: Rule, tried: readonly TargetModel[], random: Random): OtherTarget | undefined {
    const rest = rule.targetModels.filter((target) => !tried.includes(target) && this.find(route, target) !== undefined);
    const drawn = weightedDraw(rest, random.next());
    const target = drawn === undefined ? undefined : this.find(route, drawn);
    return drawn === undefined || target === undefined ? undefined : { drawn, target };
  }

  private resolve(route: ModelRoute, rule: Rule, drawn: TargetModel, isAdapter: boolean, random: Random): RouteMatch {
    const target = this.find(route, drawn);
    if (target !== undefined) return { kind: 'matched', route, rule, isAdapter, target, drawn };
    const other = this.another(route, rule, [drawn], random);
    if (other !== undefined) return { kind: 'matched', route, rule, isAdapter, ...other };
    const namespace = route.metadata.namespace ?? 'default';
    return drawn.modelServerName
      ? unmatched('missing-model-server', `can't find model server: ${namespace}/${drawn.modelServerName}`)
      : unmatched(
          'missing-provider',
          `can't find external model provider: ${namespace}/${drawn.externalModelProviderName ?? ''}`,
        );
  }

  /** What a target of a route is; undefined when it does not exist. */
  find(route: ModelRoute, { modelServerName, externalModelProviderName }: TargetModel): MatchedTarget | undefined {
    const namespace = route.metadata.namespace ?? 'default';
    if (modelServerName) {
      const modelServer = this.servers.get(`${namespace}/${modelServerName}`);
      return modelServer === undefined ? undefined : { kind: 'modelServer', modelServer };
    }
    const provider = this.providers.get(`${namespace}/${externalModelProviderName ?? ''}`);
    return provider === undefined ? undefined : { kind: 'provider', provider };
  }
}

function unmatched(reason: UnmatchedReason, message: string): RouteMatch {
  return { kind: 'unmatched', reason, message };
}

function groupBy(routes: readonly CompiledRoute[], namesOf: (route: CompiledRoute) => readonly string[]): RoutesByName {
  const groups = new Map<string, CompiledRoute[]>();
  for (const route of routes) {
    for (const name of new Set(namesOf(route))) {
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [route]);
      else group.push(route);
    }
  }
  return groups;
}

function listNames(byModel: RoutesByName, byAdapter: RoutesByName): readonly ModelName[] {
  const names = [...byModel.keys()].map((id): ModelName => ({ id }));
  for (const [id, routes] of byAdapter) {
    if (byModel.has(id)) continue;
    const parent = routes.find(({ route }) => route.spec.modelName)?.route.spec.modelName;
    names.push(parent === undefined ? { id } : { id, parent });
  }
  return names.sort((a, b) => (a.id < b.id ? -1 : 1));
}
