import { Annotations } from '../labels';
import { fieldPath } from './field-path';
import type { ModelRouteManifest } from './model-route';
import { error, type Problem, shown } from './problem';

type Spec = ModelRouteManifest['spec'];

/** A spec that Kthena's definition of the kind takes, and annotations for what that definition would drop. */
export interface AnnotatedSpec {
  readonly spec: Spec;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Moves what Kthena's definition does not have into annotations: `sessionAffinity`, the limit of requests, and the rules' `shadow` as a list
 * beside the rules.
 */
export function extensionsAsAnnotations({ sessionAffinity, tenantIsolation, rateLimit, rules, ...spec }: Spec): AnnotatedSpec {
  const { requestsPerUnit, ...tokenLimits } = rateLimit ?? {};
  const shadows = rules.map(({ shadow }) => shadow ?? null);
  return {
    spec: {
      ...spec,
      ...(rateLimit === undefined ? {} : { rateLimit: tokenLimits }),
      rules: rules.map(({ shadow: _, ...rule }) => rule),
    },
    annotations: {
      ...(sessionAffinity === undefined ? {} : { [Annotations.sessionAffinity]: JSON.stringify(sessionAffinity) }),
      ...(requestsPerUnit === undefined ? {} : { [Annotations.requestsPerUnit]: JSON.stringify(requestsPerUnit) }),
      ...(tenantIsolation === undefined ? {} : { [Annotations.tenantIsolation]: JSON.stringify(tenantIsolation) }),
      ...(shadows.every((shadow) => shadow === null) ? {} : { [Annotations.shadow]: JSON.stringify(shadows) }),
    },
  };
}

/** A spec as it was written, before anything is known of it. */
type Fields = Readonly<Record<string, unknown>>;

/** The spec with what its annotations say, where the spec itself says nothing; and what cannot be read. */
export function withAnnotatedExtensions(
  spec: Fields,
  annotations: Readonly<Record<string, unknown>>,
): { readonly spec: Fields; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const parsed = (name: string): unknown => {
    const text = annotations[name];
    if (typeof text !== 'string') return undefined;
    try {
      return JSON.parse(text);
    } catch {
      problems.push(unreadable(name, text, 'is no JSON'));
      return undefined;
    }
  };
  const affinity = parsed(Annotations.sessionAffinity);
  const requestsPerUnit = parsed(Annotations.requestsPerUnit);
  const isolation = parsed(Annotations.tenantIsolation);
  const shadows = parsed(Annotations.shadow);
  const { rules, rateLimit = {} } = spec;
  let shadowed = rules;
  if (shadows !== undefined && Array.isArray(rules)) {
    if (Array.isArray(shadows) && shadows.length === rules.length) {
      shadowed = rules.map((rule, i) => (isFields(rule) && shadows[i] !== null ? { shadow: shadows[i], ...rule } : rule));
    } else {
      problems.push(
        unreadable(Annotations.shadow, annotations[Annotations.shadow], `is no list of ${rules.length}, one for each rule`),
      );
    }
  }
  return {
    spec: {
      ...(affinity === undefined ? {} : { sessionAffinity: affinity }),
      ...(isolation === undefined ? {} : { tenantIsolation: isolation }),
      ...spec,
      ...(shadowed === undefined ? {} : { rules: shadowed }),
      ...(requestsPerUnit === undefined || !isFields(rateLimit) ? {} : { rateLimit: { requestsPerUnit, ...rateLimit } }),
    },
    problems,
  };
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const unreadable = (name: string, value: unknown, what: string): Problem =>
  error(
    fieldPath('metadata.annotations', name),
    'model-route/annotation',
    `${shown(value)} ${what}`,
    'write it as Kvasir does, or remove it',
  );
