import type { ExternalModelProvider } from '../../../src/api/external-model-provider';

/** Where a provider is. */
export interface ProviderUrl {
  readonly host: string;
  readonly port: number;
  /** Path to ask for. */
  readonly path: string;
}

/**
 * Joins a provider's base URL and a path that begins with `/v1/`. OpenAI's: a base that has a path stands for `/v1`. Anthropic's: a
 * base may end in `/v1` or not.
 *
 * @returns undefined when the base URL is no https URL.
 */
export function providerUrl({ baseURL, providerType }: ExternalModelProvider['spec'], path: string): ProviderUrl | undefined {
  if (!URL.canParse(baseURL)) return undefined;
  const { protocol, hostname, port, pathname } = new URL(baseURL);
  if (protocol !== 'https:' || hostname === '') return undefined;
  const base = pathname.replace(/\/+$/, '');
  const hasVersion = providerType === 'OpenAI' ? base !== '' : base.endsWith('/v1');
  return {
    // An IPv6 address has brackets in a URL, and none elsewhere.
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 443 : Number(port),
    path: base + (hasVersion ? path.slice('/v1'.length) : path),
  };
}
