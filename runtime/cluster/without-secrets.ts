import type { KubeObject } from '../../src/api/meta';

/** Members of pod templates and boosters in which people write tokens: environment values, command lines, engine flags. */
const DROPPED: ReadonlySet<string> = new Set(['env', 'envFrom', 'args', 'command', 'config', 'lifecycle', 'managedFields']);
/** Members of which only the names are kept. */
const NAMES_ONLY: ReadonlySet<string> = new Set(['headers']);
/** Members whose keys are people's own words. */
const KEPT: ReadonlySet<string> = new Set(['labels', 'annotations', 'matchLabels', 'nodeSelector']);
/** Kinds that hold pod templates, flags or headers. */
const CLEANED: ReadonlySet<string> = new Set(['Pod', 'Deployment', 'ModelServing', 'ModelBooster', 'ExternalModelProvider']);
/** An annotation that repeats the whole object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** An object without what may hold a credential. */
export function withoutSecrets<T extends KubeObject>(object: T): T {
  const { metadata } = object;
  const annotations =
    metadata.annotations && Object.fromEntries(Object.entries(metadata.annotations).filter(([name]) => name !== LAST_APPLIED));
  const cleaned = CLEANED.has(object.kind) ? (clean(object) as T) : object;
  return { ...cleaned, metadata: { ...cleaned.metadata, ...(annotations && { annotations }) } };
}

function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clean);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (DROPPED.has(name)) return [];
      if (KEPT.has(name)) return [[name, member]];
      return [[name, NAMES_ONLY.has(name) ? namesOf(member) : clean(member)]];
    }),
  );
}

function namesOf(member: unknown): unknown {
  return typeof member === 'object' && member !== null && !Array.isArray(member)
    ? Object.fromEntries(Object.keys(member).map((name) => [name, '…']))
    : clean(member);
}
