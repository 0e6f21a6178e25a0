import type { TSchema } from '@sinclair/typebox';
import { NETWORKING_API_VERSION, WORKLOAD_API_VERSION } from '../labels';
import { type AutoscalingPolicy, autoscalingPolicySchema } from './autoscaling-policy';
import { type AutoscalingPolicyBinding, autoscalingPolicyBindingSchema } from './autoscaling-policy-binding';
import { autoscalingPolicyBindingRules, autoscalingPolicyRules } from './autoscaling-policy-rules';
import { type ExternalModelProvider, externalModelProviderSchema } from './external-model-provider';
import { externalModelProviderRules } from './external-model-provider-rules';
import { type ModelBooster, modelBoosterSchema } from './model-booster';
import { modelBoosterRules } from './model-booster-rules';
import { type ModelRoute, modelRouteSchema } from './model-route';
import { withAnnotatedExtensions } from './model-route-extensions';
import { modelRouteRules } from './model-route-rules';
import { type ModelServer, modelServerSchema } from './model-server';
import { modelServerRules } from './model-server-rules';
import { type ModelServing, modelServingSchema } from './model-serving';
import { modelServingRules } from './model-serving-rules';
import type { Problem } from './problem';
import { fillScalingDefaults } from './scaling-defaults';

/** Kinds whose shape Kvasir owns or shares with Kthena, each with the type of a decoded object. */
export interface ApiObjects {
  readonly ModelRoute: ModelRoute;
  readonly ModelServer: ModelServer;
  readonly ExternalModelProvider: ExternalModelProvider;
  readonly AutoscalingPolicy: AutoscalingPolicy;
  readonly AutoscalingPolicyBinding: AutoscalingPolicyBinding;
  readonly ModelBooster: ModelBooster;
  readonly ModelServing: ModelServing;
}
export type ApiKind = keyof ApiObjects;
export type ApiObject = ApiObjects[ApiKind];

/** All there is to know about a kind. */
export interface ApiKindInfo<K extends ApiKind> {
  readonly apiVersion: string;
  readonly plural: string;
  readonly schema: TSchema;
  /** Rules beyond the schema, over an object that fits the schema. */
  readonly rules: (object: ApiObjects[K]) => Iterable<Problem>;
  /** Defaults beyond the schema's, over a spec that has those. */
  readonly fillDefaults?: (spec: unknown) => unknown;
  /** What annotations add to a spec as it was written, for fields that another owner of the definition does not have. */
  readonly readAnnotations?: typeof withAnnotatedExtensions;
}

export const apiKinds: { readonly [K in ApiKind]: ApiKindInfo<K> } = {
  ModelRoute: {
    apiVersion: NETWORKING_API_VERSION,
    plural: 'modelroutes',
    schema: modelRouteSchema,
    rules: modelRouteRules,
    readAnnotations: withAnnotatedExtensions,
  },
  ModelServer: { apiVersion: NETWORKING_API_VERSION, plural: 'modelservers', schema: modelServerSchema, rules: modelServerRules },
  ExternalModelProvider: {
    apiVersion: NETWORKING_API_VERSION,
    plural: 'externalmodelproviders',
    schema: externalModelProviderSchema,
    rules: externalModelProviderRules,
  },
  AutoscalingPolicy: {
    apiVersion: WORKLOAD_API_VERSION,
    plural: 'autoscalingpolicies',
    schema: autoscalingPolicySchema,
    rules: autoscalingPolicyRules,
    fillDefaults: fillScalingDefaults,
  },
  AutoscalingPolicyBinding: {
    apiVersion: WORKLOAD_API_VERSION,
    plural: 'autoscalingpolicybindings',
    schema: autoscalingPolicyBindingSchema,
    rules: autoscalingPolicyBindingRules,
  },
  ModelBooster: {
    apiVersion: WORKLOAD_API_VERSION,
    plural: 'modelboosters',
    schema: modelBoosterSchema,
    rules: modelBoosterRules,
  },
  ModelServing: {
    apiVersion: WORKLOAD_API_VERSION,
    plural: 'modelservings',
    schema: modelServingSchema,
    rules: modelServingRules,
  },
};

export const isApiKind = (kind: unknown): kind is ApiKind => typeof kind === 'string' && Object.hasOwn(apiKinds, kind);

/** The kind of `object` when its group and kind are among ours; undefined for every other object, which is carried as it is. */
export function apiKindOf(object: unknown): ApiKind | undefined {
  if (typeof object !== 'object' || object === null) return undefined;
  const { apiVersion, kind } = object as { readonly apiVersion?: unknown; readonly kind?: unknown };
  if (!isApiKind(kind) || typeof apiVersion !== 'string') return undefined;
  return apiVersion === apiKinds[kind].apiVersion || groupOf(apiVersion) === groupOf(apiKinds[kind].apiVersion)
    ? kind
    : undefined;
}

const groupOf = (apiVersion: string): string => apiVersion.split('/')[0]!;
