import { Construct } from 'constructs';
import type { ModelMatch, ModelRouteManifest, ParentReference } from '../src/api/model-route';
import type { Finding } from '../src/errors';
import { addCheck } from './check';
import type { ExternalModelProvider } from './external-model-provider';
import { KubeModelRoute } from './kube/model-route';
import type { ModelServer } from './model-server';
import { routedLabels } from './owned-labels';
import { stackContext } from './stack-context';

type Rule = ModelRouteManifest['spec']['rules'][number];
type RateLimit = NonNullable<ModelRouteManifest['spec']['rateLimit']>;

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
}

export interface CanaryOptions {
  readonly stable: RouteTarget;
  readonly canary: RouteTarget;
  /** Whole percent of requests that the canary gets, 0..100. */
  readonly percent: number;
  /** Requests with this header always go to the canary, for testers. @default none */
  readonly optIn?: { readonly header: string; readonly value: string };
}

export interface TokenLimits {
  /** Prompt tokens per unit of time. @default no limit */
  readonly inputTokens?: number;
  /** Generated tokens per unit of time. @default no limit */
  readonly outputTokens?: number;
  readonly per: RateLimit['unit'];
  /** Redis in which all routers count together; a `Redis` construct is one. @default each router counts for itself */
  readonly sharedIn?: { readonly address: string };
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
}

/** L2: which requests go to which ModelServers. Creates a ModelRoute. */
export class ModelRoute extends Construct {
  readonly resource: KubeModelRoute;
  readonly name: string;
  readonly modelName: string;
  private readonly rules: Rule[];
  private rateLimit: RateLimit | undefined;

  constructor(scope: Construct, id: string, props: ModelRouteProps = {}) {
    super(scope, id);
    this.name = props.name ?? id;
    this.modelName = props.modelName ?? this.name;
    this.rules = (props.rules ?? []).map(toRule);
    const { loraAdapters, parentRefs } = props;
    this.resource = new KubeModelRoute(this, 'Resource', {
      metadata: { name: this.name, labels: routedLabels() },
      spec: () => ({
        modelName: this.modelName,
        ...(loraAdapters === undefined ? {} : { loraAdapters: [...loraAdapters] }),
        ...(parentRefs === undefined
          ? {}
          : { parentRefs: parentRefs.map((parent) => ({ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...parent })) }),
        rules: this.rules,
        ...(this.rateLimit === undefined ? {} : { rateLimit: this.rateLimit }),
      }),
    });
    addCheck(this, () => (stackContext(this).cluster.kthenaServesRoutes ? [] : this.unserved((parentRefs ?? []).length > 0)));
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
  canary({ stable, canary, percent, optIn }: CanaryOptions): this {
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
    });
  }

  /**
   * Limits the tokens that the route serves per unit of time.
   *
   * @throws RangeError when neither limit is given, or the route already has limits.
   */
  limitTokens({ inputTokens, outputTokens, per, sharedIn }: TokenLimits): this {
    if (inputTokens === undefined && outputTokens === undefined) {
      throw new RangeError('limitTokens: give inputTokens, outputTokens or both');
    }
    if (this.rateLimit !== undefined)
      throw new RangeError(`limitTokens: route ${this.name} already has limits; give both at once`);
    this.rateLimit = {
      ...(inputTokens === undefined ? {} : { inputTokensPerUnit: inputTokens }),
      ...(outputTokens === undefined ? {} : { outputTokensPerUnit: outputTokens }),
      unit: per,
      ...(sharedIn === undefined ? {} : { global: { redis: { address: sharedIn.address } } }),
    };
    return this;
  }

  /** What Kvasir's router does not act on; Kthena's does. */
  private unserved(isGatewayOnly: boolean): readonly Finding[] {
    const hasProvider = this.rules.some(({ targetModels }) =>
      targetModels.some(({ externalModelProviderName }) => externalModelProviderName !== undefined),
    );
    return [
      ...(this.rateLimit === undefined ? [] : [LIMITS_NOT_ENFORCED]),
      ...(hasProvider ? [PROVIDERS_NOT_SERVED] : []),
      ...(isGatewayOnly ? [GATEWAYS_NOT_SERVED] : []),
    ];
  }
}

const LIMITS_NOT_ENFORCED: Finding = {
  code: 'routing/limits-not-enforced',
  severity: 'info',
  field: 'spec.rateLimit',
  message: 'this version of the router counts no tokens, so that nothing is refused',
  remedy: 'keep it for a router that does, or limit in front of the router',
};

const PROVIDERS_NOT_SERVED: Finding = {
  code: 'routing/providers-not-served',
  severity: 'warning',
  field: 'spec.rules',
  message: 'this version of the router answers 501 to requests for an ExternalModelProvider',
  remedy: 'give providers weight 0 until a router serves them, or acknowledge it',
};

const GATEWAYS_NOT_SERVED: Finding = {
  code: 'routing/gateways-not-served',
  severity: 'info',
  field: 'spec.parentRefs',
  message: 'this version of the router serves no Gateway, and answers 404 to requests for a route that is attached to one',
  remedy: "leave parentRefs out, and put a GatewayRoute to the router's Service in front",
};

function toRule({ name, match, targets }: RouteRule): Rule {
  return {
    ...(name === undefined ? {} : { name }),
    ...(match === undefined ? {} : { modelMatch: match }),
    targetModels: targets.map(({ server, provider, weight }) => ({
      ...(server === undefined ? { externalModelProviderName: nameOf(provider) } : { modelServerName: nameOf(server) }),
      weight: weight ?? 100,
    })),
  };
}

function nameOf(target: ModelServerLike | ProviderLike): string {
  return typeof target === 'string' ? target : target.name;
}
