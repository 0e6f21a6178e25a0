import { decodeKind } from '../../../src/api/decode-object';
import type { KubeObject } from '../../../src/api/meta';
import type { ParentReference, RateLimit, Rule, TargetModel } from '../../../src/api/model-route';
import type { JsonObject } from './json';
import { isPlain } from './plain-metadata';
import { Expression } from './typescript-literal';

/** What a `ModelRoute` construct is made with. */
export interface RouteProps {
  readonly props: JsonObject;
  /** Argument of `limitTokens`, where the route has limits. */
  readonly limits: JsonObject | undefined;
}

const DEFAULT_WEIGHT = 100;

/**
 * Props of a `ModelRoute` construct that makes `object`.
 *
 * @param servers variable of each ModelServer that the program makes before, by its name.
 * @returns undefined when the construct cannot say all of it.
 */
export function modelRouteProps(object: KubeObject, servers: ReadonlyMap<string, string>): RouteProps | undefined {
  const decoded = decodeKind('ModelRoute', object);
  if (decoded.kind === 'invalid' || !isPlain(object)) return undefined;
  const { modelName, loraAdapters, parentRefs, rules, rateLimit } = decoded.value.spec;
  const parents = parentRefs?.map(parentOf);
  const limits = rateLimit === undefined ? undefined : limitsOf(rateLimit);
  // The construct always writes a model name.
  if (modelName === undefined || parents?.includes(undefined) || (rateLimit !== undefined && limits === undefined)) {
    return undefined;
  }
  return {
    props: {
      ...(modelName === object.metadata.name ? {} : { modelName }),
      ...(loraAdapters === undefined ? {} : { loraAdapters }),
      ...(parents === undefined ? {} : { parentRefs: parents }),
      ...(rules.length === 0 ? {} : { rules: rules.map((rule) => ruleOf(rule, servers)) }),
    },
    limits,
  };
}

/** Names of the ModelServers that a route sends requests to. */
export function serversOf(object: KubeObject): readonly string[] {
  const decoded = decodeKind('ModelRoute', object);
  if (decoded.kind === 'invalid') return [];
  return decoded.value.spec.rules.flatMap(({ targetModels }) =>
    targetModels.flatMap(({ modelServerName }) => modelServerName ?? []),
  );
}

function parentOf({ group, kind, ...parent }: ParentReference): JsonObject | undefined {
  return group === 'gateway.networking.k8s.io' && kind === 'Gateway' ? parent : undefined;
}

function ruleOf({ name, modelMatch, targetModels }: Rule, servers: ReadonlyMap<string, string>): JsonObject {
  return {
    ...(name === undefined ? {} : { name }),
    ...(modelMatch === undefined ? {} : { match: modelMatch }),
    targets: targetModels.map((target) => targetOf(target, servers)),
  };
}

function targetOf(
  { modelServerName, externalModelProviderName, weight }: TargetModel,
  servers: ReadonlyMap<string, string>,
): JsonObject {
  const share = weight === DEFAULT_WEIGHT ? {} : { weight };
  if (!modelServerName) return { provider: externalModelProviderName, ...share };
  const variable = servers.get(modelServerName);
  return { server: variable === undefined ? modelServerName : new Expression(variable), ...share };
}

function limitsOf({ inputTokensPerUnit, outputTokensPerUnit, unit, global }: RateLimit): JsonObject | undefined {
  if (inputTokensPerUnit === undefined && outputTokensPerUnit === undefined) return undefined;
  if (global !== undefined && global.redis === undefined) return undefined;
  return {
    ...(inputTokensPerUnit === undefined ? {} : { inputTokens: inputTokensPerUnit }),
    ...(outputTokensPerUnit === undefined ? {} : { outputTokens: outputTokensPerUnit }),
    per: unit,
    ...(global?.redis === undefined ? {} : { sharedIn: { address: global.redis.address } }),
  };
}
