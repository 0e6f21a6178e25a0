import { Construct } from 'constructs';
import type { ModelMatch, ModelRouteManifest, ParentReference } from '../src/api/model-route';
import { KubeModelRoute } from './kube/model-route';
import type { ModelServer } from './model-server';
import { routedLabels } from './owned-labels';

type Rule = ModelRouteManifest['spec']['rules'][number];

/** A ModelServer of the same namespace: the construct, or its name. */
export type ModelServerLike = ModelServer | string;

export interface WeightedTarget {
  readonly server: ModelServerLike;
  /** Share of the traffic relative to the other targets, 0..100. @default 100 */
  readonly weight?: number;
}

export interface RouteRule {
  /** For people and logs. @default none */
  readonly name?: string;
  /** Conditions, all of which must hold. @default every request */
  readonly match?: ModelMatch;
  /** Where matching requests go. */
  readonly targets: readonly WeightedTarget[];
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
      }),
    });
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
}

function toRule({ name, match, targets }: RouteRule): Rule {
  return {
    ...(name === undefined ? {} : { name }),
    ...(match === undefined ? {} : { modelMatch: match }),
    targetModels: targets.map(({ server, weight }) => ({
      modelServerName: typeof server === 'string' ? server : server.name,
      weight: weight ?? 100,
    })),
  };
}
