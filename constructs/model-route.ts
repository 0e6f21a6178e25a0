import { Lazy } from 'cdk8s';
import { Construct } from 'constructs';
import type { ModelMatch, ModelRouteManifest, ParentReference, SessionAffinity, TenantIsolation } from '../src/api/model-route';
import { extensionsAsAnnotations } from '../src/api/model-route-extensions';
import { formatDuration } from '../src/duration';
import type { Finding } from '../src/errors';
import { Annotations } from '../src/labels';
import { addCheck } from './check';
import type { ExternalModelProvider } from './external-model-provider';
import { KubeModelRoute } from './kube/model-route';
import type { ModelServer } from './model-server';
import { routedLabels } from './owned-labels';
import type { RedisServer } from './platform/redis-server';
import { stackContext } from './stack-context';

type Spec = ModelRouteManifest['spec'];
type Rule = Spec['rules'][number];
type RateLimit = NonNullable<Spec['rateLimit']>;

const DEFAULT_TTL_MS = 3_600_000;

/** A ModelServer of the same namespace: the construct, or its name. */
export type ModelServerLike = ModelServer | string;

/** An ExternalModelProvider of the same namespace: the construct, or its name. */
export type ProviderLike = ExternalModelProvider | string;

/** Pods of this cluster, or a model that somebody else serves. */
export type RouteTarget =
  | { readonly server: ModelServerLike; readonly provider?: undefined }
  | { readonly provider: ProviderLike; readonly server?: undefined };

export type WeightedTarget = RouteTarget & {
  /** Share of the traffic relative to the other targets, 0..100. @default 100 */
  readonly weight?: number;
};

export interface RouteRule {
  /** For people and logs. @default none */
  readonly name?: string;
  /** Conditions, all of which must hold. @default every request */
  readonly match?: ModelMatch;
  /** Where matching requests go. */
  readonly targets: readonly WeightedTarget[];
  /** A server that gets copies of matching requests, whose answers nobody sees. @default none */
  readonly shadow?: ShadowOptions;
}

export interface ShadowOptions {
  /** Where the copies go. */
  readonly server: ModelServerLike;
  /** Whole percent of the rule's requests that are copied, 0..100; 0 copies none. @default 100 */
  readonly percent?: number;
}

/** Requests of one session go to the pod that served the last one, while it can take them. */
export interface StickySessionOptions {
  /** Where a request names its session. A claim is one of a token that the router verified. */
  readonly source: SessionAffinity['source'];
  /** Name of the header, cookie, parameter of the URL, or claim. */
  readonly name: string;
  /** How long after its last request a session is remembered, in milliseconds, above 0. @default 3_600_000, an hour */
  readonly ttlMs?: number;
}

export interface CanaryOptions {
  /** What everybody else gets. */
  readonly stable: RouteTarget;
  /** The new version. */
  readonly canary: RouteTarget;
  /** Whole percent of requests that the canary gets, 0..100. */
  readonly percent: number;
  /** Requests with this header always go to the canary, for testers. @default none */
  readonly optIn?: { readonly header: string; readonly value: string };
  /** A server that gets copies of all other requests, to compare what it answers with under real load. @default none */
  readonly shadow?: ShadowOptions;
}

export interface TokenLimits {
  /** Requests per unit of time. @default no limit */
  readonly requests?: number;
  /** Prompt tokens per unit of time. @default no limit */
  readonly inputTokens?: number;
  /** Generated tokens per unit of time. @default no limit */
  readonly outputTokens?: number;
  /** The unit of time. */
  readonly per: RateLimit['unit'];
  /**
   * Redis in which all routers count together. One with a password or TLS must be that of the routers, `Router.redis`: the object names
   * its address only.
   *
   * @default each router counts for itself
   */
  readonly sharedIn?: RedisServer;
}

export interface ModelRouteProps {
  /** Name of the object. @default the construct's id */
  readonly name?: string;
  /** Value of `model` that clients send. @default the object's name */
  readonly modelName?: string;
  /** Values of `model` that name LoRA adapters. @default none */
  readonly loraAdapters?: readonly string[];
  /** Gateways that the route is attached to. @default all */
  readonly parentRefs?: readonly Omit<ParentReference, 'group' | 'kind'>[];
  /** Rules, first match first; `addRule` adds more. @default none yet */
  readonly rules?: readonly RouteRule[];
  /** Keeps the requests of a session on one pod. @default each request goes where it is answered soonest */
  readonly stickySession?: StickySessionOptions;
  /**
   * Whose KV caches are kept apart, by the credentials that the router verified: each tenant's, or each user's. A prompt that one of
   * them sent is then computed anew for the others.
   *
   * @default everybody's prompts share
   */
  readonly isolateCaches?: TenantIsolation['salt'];
}

/**
 * L2: which requests go to which ModelServers. Creates a ModelRoute.
 *
 * @example
 * new ModelRoute(models, 'chat')
 *   .addRule({ match: { headers: { 'x-tier': { exact: 'vip' } } }, targets: [{ server: qwen.server }] })
 *   .splitTraffic([{ server: qwen.server }])
 *   .limitTokens({ outputTokens: 200_000, per: 'minute' });
 */
export class ModelRoute extends Construct {
  readonly resource: KubeModelRoute;
  readonly name: string;
  readonly modelName: string;
  private readonly rules: Rule[];
  private rateLimit: RateLimit | undefined;
  private counters: RedisServer | undefined;

  constructor(scope: Construct, id: string, props: ModelRouteProps = {}) {
    super(scope, id);
    this.name = props.name ?? id;
    this.modelName = props.modelName ?? this.name;
    this.rules = (props.rules ?? []).map(toRule);
    const { kthenaServesRoutes } = stackContext(this).cluster;
    this.resource = new KubeModelRoute(this, 'Resource', {
      metadata: { name: this.name, labels: routedLabels() },
      spec: () => (kthenaServesRoutes ? extensionsAsAnnotations(this.spec(props)).spec : this.spec(props)),
    });
    if (kthenaServesRoutes) {
      // At synth, since rules may still be added.
      const { sessionAffinity, tenantIsolation, requestsPerUnit, shadow } = Annotations;
      for (const key of [sessionAffinity, tenantIsolation, requestsPerUnit, shadow]) {
        const value = Lazy.any({ produce: () => extensionsAsAnnotations(this.spec(props)).annotations[key] });
        this.resource.metadata.addAnnotation(key, value as string);
      }
    }
    addCheck(this, () => {
      const spec = this.spec(props);
      return kthenaServesRoutes ? unknownToKthena(spec) : unserved(spec);
    });
  }

  /** Redis of the limits; undefined when each router counts for itself. */
  get sharedIn(): RedisServer | undefined {
    return this.counters;
  }

  /** Adds a rule after those that are there; the first rule that matches decides. */
  addRule(rule: RouteRule): this {
    this.rules.push(toRule(rule));
    return this;
  }

  /** Adds a last rule for everything else, drawn by weight: a canary, a migration between servers. */
  splitTraffic(targets: readonly WeightedTarget[]): this {
    return this.addRule({ name: 'split', targets });
  }

  /**
   * Adds a last rule that gives a new version a share of the traffic, and before it one for requests that ask for it by header.
   *
   * @throws RangeError when `percent` is no whole number from 0 to 100.
   */
  canary({ stable, canary, percent, optIn, shadow }: CanaryOptions): this {
    if (!Number.isInteger(percent) || percent < 0 || percent > 100) {
      throw new RangeError(`canary: percent is ${percent}; give a whole number from 0 to 100`);
    }
    if (optIn !== undefined) {
      const match = { headers: { [optIn.header]: { exact: optIn.value } } };
      this.addRule({ name: 'canary-opt-in', match, targets: [canary] });
    }
    return this.addRule({
      name: 'canary',
      targets: [
        { ...stable, weight: 100 - percent },
        { ...canary, weight: percent },
      ],
      ...(shadow === undefined ? {} : { shadow }),
    });
  }

  /**
   * Limits the tokens, and the requests, that the route serves per unit of time.
   *
   * @throws RangeError when no limit is given, or the route already has limits.
   */
  limitTokens({ inputTokens, outputTokens, requests, per, sharedIn }: TokenLimits): this {
    if (inputTokens === undefined && outputTokens === undefined && requests === undefined) {
      throw new RangeError('limitTokens: give inputTokens, outputTokens or requests');
    }
    if (this.rateLimit !== undefined)
      throw new RangeError(`limitTokens: route ${this.name} already has limits; give all at once`);
    this.counters = sharedIn;
    this.rateLimit = {
      ...(inputTokens === undefined ? {} : { inputTokensPerUnit: inputTokens }),
      ...(outputTokens === undefined ? {} : { outputTokensPerUnit: outputTokens }),
      ...(requests === undefined ? {} : { requestsPerUnit: requests }),
      unit: per,
      ...(sharedIn === undefined ? {} : { global: { redis: { address: sharedIn.address } } }),
    };
    return this;
  }

  private spec({ loraAdapters, parentRefs, stickySession, isolateCaches }: ModelRouteProps): Spec {
    return {
      modelName: this.modelName,
      ...(loraAdapters === undefined ? {} : { loraAdapters: [...loraAdapters] }),
      ...(parentRefs === undefined
        ? {}
        : { parentRefs: parentRefs.map((parent) => ({ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...parent })) }),
      rules: this.rules,
      ...(this.rateLimit === undefined ? {} : { rateLimit: this.rateLimit }),
      ...(stickySession === undefined ? {} : { sessionAffinity: sessionAffinity(stickySession) }),
      ...(isolateCaches === undefined ? {} : { tenantIsolation: { salt: isolateCaches } }),
    };
  }
}

function sessionAffinity({ source, name, ttlMs = DEFAULT_TTL_MS }: StickySessionOptions): Spec['sessionAffinity'] {
  return { source, name, ttl: formatDuration(ttlMs) };
}

/** What Kvasir's router does not act on. */
function unserved({ parentRefs = [] }: Spec): readonly Finding[] {
  return [...(parentRefs.length > 0 ? [GATEWAYS_NOT_SERVED] : [])];
}

/** Extensions of the kind, which Kthena's router does not read. */
function unknownToKthena({ rules, rateLimit, sessionAffinity, tenantIsolation }: Spec): readonly Finding[] {
  const fields = [
    ...(sessionAffinity === undefined ? [] : ['spec.sessionAffinity']),
    ...(tenantIsolation === undefined ? [] : ['spec.tenantIsolation']),
    ...(rateLimit?.requestsPerUnit === undefined ? [] : ['spec.rateLimit.requestsPerUnit']),
    ...rules.flatMap(({ shadow }, i) => (shadow === undefined ? [] : [`spec.rules[${i}].shadow`])),
  ];
  return fields.map((field) => ({
    code: 'routing/kthena-extension',
    severity: 'warning',
    field,
    message: "is written as an annotation, since Kthena's definition has no such field, and Kthena's router does not act on it",
    remedy: "leave it out, or let Kvasir's router serve",
  }));
}

const GATEWAYS_NOT_SERVED: Finding = {
  code: 'routing/gateways-not-served',
  severity: 'info',
  field: 'spec.parentRefs',
  message: 'this version of the router serves no Gateway, and answers 404 to requests for a route that is attached to one',
  remedy: "leave parentRefs out, and put a GatewayRoute to the router's Service in front",
};

function toRule({ name, match, targets, shadow }: RouteRule): Rule {
  return {
    ...(name === undefined ? {} : { name }),
    ...(match === undefined ? {} : { modelMatch: match }),
    targetModels: targets.map(({ server, provider, weight }) => ({
      ...(server === undefined ? { externalModelProviderName: nameOf(provider) } : { modelServerName: nameOf(server) }),
      weight: weight ?? 100,
    })),
    ...(shadow === undefined ? {} : { shadow: { modelServerName: nameOf(shadow.server), percent: shadow.percent ?? 100 } }),
  };
}

function nameOf(target: ModelServerLike | ProviderLike): string {
  return typeof target === 'string' ? target : target.name;
}
