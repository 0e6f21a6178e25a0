import type { ExternalModelProvider } from '../../../src/api/external-model-provider';
import { describeObject, keyOf } from '../../../src/api/meta';
import type { ModelRoute } from '../../../src/api/model-route';
import type { Finding } from '../../../src/errors';
import { type Look, nowOf, objectsOf } from '../look/look';
import { ageText, UNKNOWN } from '../look/texts';
import type { TableOf } from './table-of';

export interface ProviderRow {
  readonly provider: ExternalModelProvider;
  /** `namespace/name` of the routes that name it. */
  readonly routes: readonly string[];
  /** What the router, or a check, holds against it. */
  readonly problems: readonly Finding[];
  readonly at: string;
}

export function providerRow(provider: ExternalModelProvider, look: Look): ProviderRow {
  const { namespace = 'default', name } = provider.metadata;
  const names = ({ metadata, spec }: ModelRoute): boolean =>
    (metadata.namespace ?? 'default') === namespace &&
    spec.rules.some(({ targetModels }) => targetModels.some((target) => target.externalModelProviderName === name));
  return {
    provider,
    routes: objectsOf(look, 'ModelRoute').filter(names).map(keyOf),
    problems: look.findings.filter(({ object }) => object === describeObject(provider)),
    at: nowOf(look),
  };
}

/** What `kvasir get providers` shows. */
export const PROVIDER_TABLE: TableOf<ProviderRow> = {
  columns: [
    { title: 'NAMESPACE', cell: ({ provider }) => provider.metadata.namespace ?? 'default', isText: true },
    { title: 'NAME', cell: ({ provider }) => provider.metadata.name, isText: true },
    { title: 'TYPE', cell: ({ provider }) => provider.spec.providerType, isText: true },
    { title: 'MODEL', cell: ({ provider }) => provider.spec.model || UNKNOWN, isText: true },
    { title: 'ROUTES', cell: ({ routes }) => String(routes.length), isText: true },
    { title: 'STATE', cell: ({ problems, at }) => problems[0]?.code ?? (at === '' ? UNKNOWN : 'Ready'), isText: true },
    { title: 'AGE', cell: ({ provider, at }) => ageText(provider.metadata.creationTimestamp, at), isText: true },
    { title: 'URL', cell: ({ provider }) => provider.spec.baseURL ?? 'default', isText: true, isWide: true },
    { title: 'SECRET', cell: ({ provider }) => provider.spec.auth?.secretRef.name || UNKNOWN, isText: true, isWide: true },
  ],
  document: ({ provider, routes, problems }) => ({
    name: provider.metadata.name,
    namespace: provider.metadata.namespace ?? 'default',
    providerType: provider.spec.providerType,
    model: provider.spec.model ?? null,
    baseURL: provider.spec.baseURL ?? null,
    secret: provider.spec.auth?.secretRef.name ?? null,
    routes,
    problems,
  }),
};
