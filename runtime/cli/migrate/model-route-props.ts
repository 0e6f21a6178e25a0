import { decodeKind } from '../../../src/api/decode-object';
import type { KubeObject } from '../../../src/api/meta';
import type { ParentReference, RateLimit, Rule, SessionAffinity, Shadow, TargetModel } from '../../../src/api/model-route';
import { parseDurationMs } from '../../../src/duration';
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
/** Percent of a rule's requests that a shadow gets unless it is told. */
const ALL = 100;

/**
 * Props of a `ModelRoute` construct that makes `object`.
 *
 * @param servers variable of each ModelServer that the program makes before, by its name.
 * @returns undefined when the construct cannot say all of it.
 */
export function modelRouteProps(object: KubeObject, servers: ReadonlyMap<string, string>): RouteProps | undefined {
  const decoded = decodeKind('ModelRoute', object);
  if (decoded.kind === 'invalid' || !isPlain(object)) return undefined;
  const { modelName, loraAdapters, parentRefs, rules, rateLimit, sessionAffinity } = decoded.value.spec;
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
      ...(sessionAffinity === undefined ? {} : { stickySession: sessionOf(sessionAffinity) }),
    },
    limits,
  };
}

/** Names of the ModelServers that a route sends requests to. */
export function serversOf(object: KubeObject): readonly string[] {
  const decoded = decodeKind('ModelRoute', object);
  if (decoded.kind === 'invalid') return [];
  return decoded.value.spec.rules.flatMap(({ targetModels, shadow }) =>
    [...targetModels, shadow].flatMap((target) => target?.modelServerName ?? []),
  );
}

function parentOf({ group, kind, ...parent }: ParentReference): JsonObject | undefined {
  return group === 'gateway.networking.k8s.io' && kind === 'Gateway' ? parent : undefined;
}

function sessionOf({ source, name, ttl }: SessionAffinity): JsonObject {
  return { source, name, ttlMs: parseDurationMs(ttl) };
}

function ruleOf({ name, modelMatch, targetModels, shadow }: Rule, servers: ReadonlyMap<string, string>): JsonObject {
  return {
    ...(name === undefined ? {} : { name }),
    ...(modelMatch === undefined ? {} : { match: modelMatch }),
    targets: targetModels.map((target) => targetOf(target, servers)),
    ...(shadow === undefined ? {} : { shadow: shadowOf(shadow, servers) }),
  };
}

function shadowOf({ modelServerName, percent }: Shadow, servers: ReadonlyMap<string, string>): JsonObject {
  return { server: serverOf(modelServerName, servers), ...(percent === ALL ? {} : { percent }) };
}

function targetOf(
  { modelServerName, externalModelProviderName, weight }: TargetModel,
  servers: ReadonlyMap<string, string>,
): JsonObject {
  const share = weight === DEFAULT_WEIGHT ? {} : { weight };
  if (!modelServerName) return { provider: externalModelProviderName, ...share };
  return { server: serverOf(modelServerName, servers), ...share };
}

function serverOf(name: string, servers: ReadonlyMap<string, string>): string | Expression {
  const variable = servers.get(name);
  return variable === undefined ? name : new Expression(variable);
}

function limitsOf({ inputTokensPerUnit, outputTokensPerUnit, requestsPerUnit, unit, global }: RateLimit): JsonObject | undefined {
  if ((inputTokensPerUnit ?? outputTokensPerUnit ?? requestsPerUnit) === undefined) return undefined;
  if (global !== undefined && global.redis === undefined) return undefined;
  return {
    ...(inputTokensPerUnit === undefined ? {} : { inputTokens: inputTokensPerUnit }),
    ...(outputTokensPerUnit === undefined ? {} : { outputTokens: outputTokensPerUnit }),
    ...(requestsPerUnit === undefined ? {} : { requests: requestsPerUnit }),
    per: unit,
    ...(global?.redis === undefined ? {} : { sharedIn: { address: global.redis.address } }),
  };
}
