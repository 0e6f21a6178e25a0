import type { ExternalModelProvider } from '../../../src/api/external-model-provider';
import { keyOf } from '../../../src/api/meta';
import type { ModelRoute, Rule, TargetModel } from '../../../src/api/model-route';
import type { ModelServer } from '../../../src/api/model-server';
import type { RouterConfig } from '../../../src/config/router-config';
import { parseDurationMs } from '../../../src/duration';
import type { Random } from '../../lib/random';
import { cacheSaltOf } from '../admission/cache-salt';
import type { Identity } from '../admission/identity';
import { RouterError, type RouterErrorCode } from '../errors';
import type { Destination } from '../observability/request-trace';
import type { ProviderChoice } from '../providers/provider-choice';
import type { RetryRules } from '../relay/retry-policy';
import type { MatchedProvider, MatchedRequest, MatchedServer, ReadRequest } from '../request';
import type { OtherTarget, RouteTable, UnmatchedReason } from '../routing/route-table';
import { namedTarget, type Sessions, type SessionUse, sessionTarget } from '../routing/sessions';
import type { ApiPath } from './api-paths';
import type { ParsedBody } from './parse-body';

/** What a client is told whose request matches nothing. */
export const UNMATCHED_ERRORS: Readonly<Record<UnmatchedReason, RouterErrorCode>> = {
  'unknown-model': 'model_not_found',
  'no-rule': 'route_not_found',
  'gateway-only': 'route_not_found',
  'no-weight': 'backend_not_found',
  'missing-model-server': 'backend_not_found',
  'missing-provider': 'backend_not_found',
};

/** What all requests to one ModelServer or provider share. */
interface TargetPolicy {
  readonly key: string;
  readonly retry: RetryRules;
  readonly firstByteMs: number;
  /** By route and upstream model, so that metrics find their series by identity. */
  readonly destinations: WeakMap<ModelRoute, Map<string, Destination>>;
}

/** Destinations remembered per target and route: adapters may have many names. */
const MAX_DESTINATIONS = 1_000;

/** Statuses of providers that are worth another target, beside those of the configuration: Anthropic's for being overloaded. */
const PROVIDER_STATUSES = [529];
/** A status of being over a limit: another try at the same provider would be over it as well. */
const TOO_MANY_REQUESTS = 429;

/** Finds where requests go, with the policies of their target. */
export class RequestMatcher {
  private statuses!: ReadonlySet<number>;
  private providerStatuses!: ReadonlySet<number>;
  private soleProviderStatuses!: ReadonlySet<number>;
  private policies!: WeakMap<ModelServer | ExternalModelProvider, TargetPolicy>;

  constructor(
    private readonly routes: RouteTable,
    private readonly random: Random,
    private readonly config: Pick<RouterConfig, 'retry' | 'deadlines'>,
    private readonly sessions: Sessions,
    private readonly providers: ProviderChoice,
  ) {
    this.configChanged();
  }

  /** Reads its configuration anew. */
  configChanged(): void {
    const { statuses } = this.config.retry;
    this.statuses = new Set(statuses);
    this.providerStatuses = new Set([...statuses, ...PROVIDER_STATUSES]);
    this.soleProviderStatuses = new Set([...this.providerStatuses].filter((status) => status !== TOO_MANY_REQUESTS));
    this.policies = new WeakMap();
  }

  /** @throws RouterError `model_not_found`, `route_not_found`, `backend_not_found`, `not_isolated`. */
  match(request: ReadRequest, identity: Identity): MatchedRequest {
    const { head, parsed } = request;
    const match = this.routes.match({
      path: head.path,
      method: head.api.method,
      headers: head.headers,
      model: parsed.model,
      random: this.random,
    });
    if (match.kind === 'unmatched') throw new RouterError(UNMATCHED_ERRORS[match.reason], match.message, 'model');
    const { sessionAffinity, tenantIsolation } = match.route.spec;
    const drawn = this.matched(match, match, match.isAdapter, parsed.model, undefined);
    const first = drawn.kind === 'provider' ? this.cheapest(drawn, parsed, []) : drawn;
    if (sessionAffinity === undefined && tenantIsolation === undefined) return first;
    const cacheSalt = tenantIsolation === undefined ? undefined : cacheSaltOf(tenantIsolation, identity);
    const session =
      sessionAffinity === undefined
        ? undefined
        : this.sessions.find(match.route, sessionAffinity, { headers: head.headers, query: head.query, identity });
    const special = { ...this.stuck(first, session, parsed.model), cacheSalt, session };
    if (isolates(special, head.api)) return special;
    const other = this.fallback(special, request);
    if (other !== undefined) return other;
    throw new RouterError('not_isolated', `the engine cannot keep tenants apart on ${head.api.path}`);
  }

  /** Where else a request may go whose target has nobody; undefined when its rule has no other target. */
  fallback(matched: MatchedRequest, request: ReadRequest): MatchedRequest | undefined {
    return this.other(matched, request, triedTargets(matched));
  }

  /**
   * The draw of an earlier match made anew among some targets of its rule, as they are now; undefined when none of them can be drawn. A
   * session stays with its target while that is one of them.
   */
  redraw(matched: MatchedRequest, request: ReadRequest, mayTake: (target: TargetModel) => boolean): MatchedRequest | undefined {
    const { rule, target, session } = matched;
    const staysWith = session?.place?.target === sessionTarget(target) && mayTake(target) ? target : undefined;
    const others = rule.targetModels.filter((each) => (staysWith === undefined ? !mayTake(each) : each !== staysWith));
    const other = this.other(matched, request, others);
    return other === undefined ? undefined : { ...other, before: undefined, stateful: matched.stateful };
  }

  /** The first provider of a rule that exists and was not tried, or the one of least cost, of whatever weight: where a request overflows to. */
  overflow(matched: MatchedRequest, { head, parsed }: ReadRequest): MatchedRequest | undefined {
    const { route, rule } = matched;
    const tried = triedTargets(matched);
    for (const target of this.overflowTargets(route, rule, parsed)) {
      if (tried.includes(target)) continue;
      const only = { ...rule, targetModels: [{ ...target, weight: 100 }] };
      const live = this.routes.another(route, only, [], this.random);
      if (live === undefined) continue;
      const next = this.matched(matched, { ...live, drawn: target }, matched.isAdapter, parsed.model, matched);
      if (isolates(next, head.api)) return { ...next, stateful: matched.stateful };
    }
    return undefined;
  }

  /** What a request costs at the provider that it would overflow to, in seconds; undefined where only weights decide, or there is none. */
  overflowSeconds({ route, rule }: MatchedRequest, { parsed }: ReadRequest): number | undefined {
    if (!this.providers.isOn) return undefined;
    const [target] = this.overflowTargets(route, rule, parsed);
    if (target === undefined || this.routes.find(route, target) === undefined) return undefined;
    return this.providers.seconds(providerKeyOf(route, target), parsed);
  }

  private overflowTargets(route: ModelRoute, rule: Rule, parsed: ParsedBody): readonly TargetModel[] {
    const targets = rule.targetModels.filter(({ externalModelProviderName }) => externalModelProviderName);
    if (!this.providers.isOn || targets.length < 2) return targets;
    return this.providers.byCost(targets, (target) => providerKeyOf(route, target), parsed);
  }

  /** Whether the route of an earlier match is still as it was. */
  isCurrent({ route }: MatchedRequest): boolean {
    return this.routes.has(route);
  }

  /** In place of a drawn provider that of its rule which takes least time and money, where that decides. */
  private cheapest(drawn: MatchedProvider, parsed: ParsedBody, tried: readonly TargetModel[]): MatchedRequest {
    if (!this.providers.isOn) return drawn;
    const { route, rule, isAdapter, before } = drawn;
    const others = rule.targetModels.filter((each) => each.weight > 0 && !tried.includes(each) && each !== drawn.target);
    const live = others.flatMap((each) => {
      const target = this.routes.find(route, each);
      return target?.kind === 'provider' ? [{ drawn: each, target }] : [];
    });
    const own = { drawn: drawn.target, target: { kind: 'provider' as const, provider: drawn.provider } };
    const best = this.providers.best([own, ...live], ({ target }) => keyOf(target.provider), parsed);
    return best === undefined || best === own ? drawn : this.matched({ route, rule }, best, isAdapter, parsed.model, before);
  }

  private other(
    matched: MatchedRequest,
    { head, parsed }: ReadRequest,
    without: readonly TargetModel[],
  ): MatchedRequest | undefined {
    const tried = [...without];
    for (;;) {
      const other = this.routes.another(matched.route, matched.rule, tried, this.random);
      if (other === undefined) return undefined;
      const found = this.matched(matched, other, matched.isAdapter, parsed.model, matched);
      const next = found.kind === 'provider' ? this.cheapest(found, parsed, tried) : found;
      if (isolates(next, head.api)) return next;
      tried.push(next.target);
    }
  }

  /** The target that served the session last, while its rule may still draw it. */
  private stuck(first: MatchedRequest, session: SessionUse | undefined, model: string): MatchedRequest {
    const target = session?.place?.target;
    if (target === undefined || target === sessionTarget(first.target)) return first;
    const { route, rule, isAdapter } = first;
    const bound = rule.targetModels.find((each) => each.weight > 0 && sessionTarget(each) === target);
    const live =
      bound === undefined ? undefined : this.routes.another(route, { ...rule, targetModels: [bound] }, [], this.random);
    return live === undefined ? first : this.matched(first, live, isAdapter, model, undefined);
  }

  /** The shadow of a request's rule; undefined when there is none, or it cannot keep tenants apart where that is asked for. */
  shadowOf({ route, rule, isAdapter, cacheSalt }: MatchedRequest, { head, parsed }: ReadRequest): MatchedServer | undefined {
    if (rule.shadow === undefined) return undefined;
    const only = { ...rule, targetModels: [{ modelServerName: rule.shadow.modelServerName, weight: 100 }] };
    const live = this.routes.another(route, only, [], this.random);
    if (live === undefined) return undefined;
    const shadow = { ...this.matched({ route, rule }, live, isAdapter, parsed.model, undefined), cacheSalt };
    return shadow.kind === 'modelServer' && isolates(shadow, head.api) ? shadow : undefined;
  }

  /**
   * The target of an earlier match as it is now, for what only that target can answer; undefined when it or its route is gone.
   *
   * @param routeKey `namespace/name`. @param target as `sessionTarget` calls it.
   */
  again(routeKey: string, target: string, isAdapter: boolean, model: string): MatchedRequest | undefined {
    const route = this.routes.named(routeKey);
    if (route === undefined) return undefined;
    const rule: Rule = { targetModels: [namedTarget(target)] };
    const live = this.routes.another(route, rule, [], this.random);
    return live === undefined ? undefined : this.matched({ route, rule }, live, isAdapter, model, undefined);
  }

  private matched(
    { route, rule }: { readonly route: ModelRoute; readonly rule: Rule },
    { drawn, target }: OtherTarget,
    isAdapter: boolean,
    model: string,
    before: MatchedRequest | undefined,
  ): MatchedRequest {
    if (target.kind === 'provider') {
      const { provider } = target;
      const { key, retry, firstByteMs, destinations } = this.policyOf(provider);
      const upstreamModel = provider.spec.model || model;
      const destination = destinationOf(destinations, route, 'external_provider', key, upstreamModel);
      const isSole = rule.targetModels.every((each) => each === drawn || each.weight === 0);
      return {
        kind: 'provider',
        route,
        rule,
        target: drawn,
        before,
        provider,
        providerKey: key,
        destination,
        isAdapter,
        upstreamModel,
        retry: isSole ? { ...retry, statuses: this.soleProviderStatuses } : retry,
        firstByteMs,
        cacheSalt: before?.cacheSalt,
        session: before?.session,
      };
    }
    const { modelServer } = target;
    const { key, retry, firstByteMs, destinations } = this.policyOf(modelServer);
    const upstreamModel = isAdapter ? model : modelServer.spec.model || model;
    return {
      kind: 'modelServer',
      route,
      rule,
      target: drawn,
      before,
      modelServer,
      modelServerKey: key,
      destination: destinationOf(destinations, route, 'model_server', key, upstreamModel),
      isAdapter,
      upstreamModel,
      protocol: modelServer.spec.workloadPort.protocol,
      retry,
      firstByteMs,
      cacheSalt: before?.cacheSalt,
      session: before?.session,
    };
  }

  private policyOf(target: ModelServer | ExternalModelProvider): TargetPolicy {
    const known = this.policies.get(target);
    if (known !== undefined) return known;
    const { timeout, retry } = (target.kind === 'ModelServer' ? target.spec.trafficPolicy : undefined) ?? {};
    const policy: TargetPolicy = {
      key: keyOf(target),
      destinations: new WeakMap(),
      retry: {
        attempts: retry?.attempts ?? this.config.retry.attempts,
        intervalMs:
          (retry?.retryInterval === undefined ? undefined : parseDurationMs(retry.retryInterval)) ?? this.config.retry.intervalMs,
        statuses: target.kind === 'ModelServer' ? this.statuses : this.providerStatuses,
      },
      firstByteMs: (timeout === undefined ? undefined : parseDurationMs(timeout)) ?? this.config.deadlines.firstByteMs,
    };
    this.policies.set(target, policy);
    return policy;
  }
}

/** Whether the request's KV blocks are kept apart there, if they must be. What a provider caches is its own business. */
function isolates(matched: MatchedRequest, { cacheSalt: engines }: ApiPath): boolean {
  if (matched.cacheSalt === undefined || matched.kind === 'provider' || engines === 'needless') return true;
  return engines[matched.modelServer.spec.inferenceEngine] !== undefined;
}

/** `namespace/name` of the provider that a target names. */
function providerKeyOf({ metadata }: ModelRoute, { externalModelProviderName }: TargetModel): string {
  return `${metadata.namespace ?? 'default'}/${externalModelProviderName}`;
}

function triedTargets(matched: MatchedRequest): readonly TargetModel[] {
  const tried: TargetModel[] = [];
  for (let each: MatchedRequest | undefined = matched; each !== undefined; each = each.before) tried.push(each.target);
  return tried;
}

function destinationOf(
  destinations: TargetPolicy['destinations'],
  route: ModelRoute,
  backendType: Destination['backendType'],
  backendName: string,
  upstreamModel: string,
): Destination {
  let byModel = destinations.get(route);
  if (byModel === undefined) {
    byModel = new Map();
    destinations.set(route, byModel);
  }
  let destination = byModel.get(upstreamModel);
  if (destination === undefined) {
    destination = { modelRoute: keyOf(route), backendType, backendName, upstreamModel };
    if (byModel.size >= MAX_DESTINATIONS) byModel.clear();
    byModel.set(upstreamModel, destination);
  }
  return destination;
}
