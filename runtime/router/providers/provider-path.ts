import type { ExternalModelProvider } from '../../../src/api/external-model-provider';

type ProviderType = ExternalModelProvider['spec']['providerType'];

/** How a provider serves a path of the router. */
export interface ProviderPath {
  /** Path at the provider, as if its base URL had none. */
  readonly path: string;
  /** The provider has another API for it, so that request and answer are translated. */
  readonly isTranslated: boolean;
}

const own = (path: string): readonly [string, ProviderPath] => [path, { path, isTranslated: false }];

const PATHS: Readonly<Record<ProviderType, ReadonlyMap<string, ProviderPath>>> = {
  OpenAI: new Map([
    own('/v1/chat/completions'),
    own('/v1/completions'),
    own('/v1/responses'),
    own('/v1/embeddings'),
    ['/v1/messages', { path: '/v1/chat/completions', isTranslated: true }],
  ]),
  Anthropic: new Map([
    own('/v1/messages'),
    own('/v1/messages/count_tokens'),
    ['/v1/chat/completions', { path: '/v1/messages', isTranslated: true }],
  ]),
};

/** How a provider serves a path; undefined when it does not. */
export function providerPath(type: ProviderType, path: string): ProviderPath | undefined {
  return PATHS[type].get(path);
}
