import { isDeepStrictEqual } from 'node:util';
import type { RouterConfig } from './router-config';

/**
 * What a running router takes over when its file changes, by field; of nested names the longest counts. Everything else needs a restart,
 * so that a field nobody thought of is late rather than half applied.
 */
const RELOADED: Readonly<Record<string, boolean>> = {
  scheduler: true,
  profile: true,
  profiles: true,
  routeProfiles: true,
  auth: true,
  explain: true,
  limits: true,
  deadlines: true,
  // Connections and the server are made with these.
  'deadlines.connectMs': false,
  'deadlines.requestHeadMs': false,
  retry: true,
  paths: true,
  requests: true,
  cors: true,
  trustedProxies: true,
  accessLog: true,
  decisionLog: true,
  usage: true,
  tracing: true,
  drain: true,
  disaggregation: true,
  guardrail: true,
  'rateLimit.cachedTokenWeight': true,
  'rateLimit.clients': true,
};

type Fields = Readonly<Record<string, unknown>>;

/** What becomes of a new configuration. */
export interface ConfigChange {
  /** The new one, with the old values of what needs a restart. Parts without a change are the old objects. */
  readonly config: RouterConfig;
  /** Fields that are taken over, by name. */
  readonly applied: readonly string[];
  /** Fields that need a restart, by name. */
  readonly awaiting: readonly string[];
}

/** @param running what the router has. @param wanted what its file says. */
export function configChange(running: RouterConfig, wanted: RouterConfig): ConfigChange {
  const applied: string[] = [];
  const awaiting: string[] = [];
  const merge = (before: unknown, after: unknown, path: string): unknown => {
    if (isDeepStrictEqual(before, after)) return before;
    if (isMixed(path)) {
      const entries = keysOf(before, after).map(
        (key) => [key, merge(at(before, key), at(after, key), below(path, key))] as const,
      );
      return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
    }
    const reloaded = isReloaded(path);
    (reloaded ? applied : awaiting).push(...differences(before, after, path));
    return reloaded ? after : before;
  };
  const config = merge(running, wanted, '') as RouterConfig;
  return { config, applied: applied.sort(), awaiting: awaiting.sort() };
}

/** The part of a document that pods must be restarted for when it changes. */
export function restartDocument(document: object): object {
  const keep = (value: unknown, path: string): unknown => {
    if (!isMixed(path) || !isFields(value)) return isReloaded(path) ? undefined : value;
    const kept = Object.entries(value).map(([key, each]) => [key, keep(each, below(path, key))] as const);
    const left = kept.filter(([, each]) => each !== undefined);
    return left.length === 0 ? undefined : Object.fromEntries(left);
  };
  return (keep(document, '') ?? {}) as object;
}

function isReloaded(path: string): boolean {
  for (let name = path; name !== ''; name = name.slice(0, Math.max(0, name.lastIndexOf('.')))) {
    const reloaded = RELOADED[name];
    if (reloaded !== undefined) return reloaded;
  }
  return false;
}

/** Whether fields below differ in whether they are reloaded. */
function isMixed(path: string): boolean {
  return path === '' || Object.keys(RELOADED).some((name) => name.startsWith(`${path}.`));
}

function differences(before: unknown, after: unknown, path: string): readonly string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isFields(before) || !isFields(after)) return [path];
  return keysOf(before, after).flatMap((key) => differences(before[key], after[key], below(path, key)));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function keysOf(...values: readonly unknown[]): readonly string[] {
  return [...new Set(values.flatMap((value) => (isFields(value) ? Object.keys(value) : [])))];
}

function at(value: unknown, key: string): unknown {
  return isFields(value) ? value[key] : undefined;
}

function below(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
