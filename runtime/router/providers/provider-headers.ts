import type { IncomingHttpHeaders } from 'node:http';
import type { ExternalModelProvider } from '../../../src/api/external-model-provider';
import { RESERVED_HEADERS } from '../../../src/api/external-model-provider-rules';
import type { ProviderCredential } from './provider-credential';

/** Of the client's headers a provider gets these, and no others: it is a stranger to the cluster. */
const FORWARDED = [
  'traceparent',
  'tracestate',
  'baggage',
  'x-b3-traceid',
  'x-b3-spanid',
  'x-b3-parentspanid',
  'x-b3-sampled',
  'x-b3-flags',
] as const;

/** What a client that speaks a provider's own API says about it. */
const OWN_API: Readonly<Record<ExternalModelProvider['spec']['providerType'], readonly string[]>> = {
  OpenAI: ['content-type', 'accept', 'openai-beta'],
  Anthropic: ['content-type', 'accept', 'anthropic-version', 'anthropic-beta'],
};

/** Version of the messages API that the translation speaks; the next one (2026-10-21) refuses sampling parameters. */
const ANTHROPIC_VERSION = '2023-06-01';

export interface ProviderHeadersInput {
  readonly spec: ExternalModelProvider['spec'];
  readonly client: IncomingHttpHeaders;
  readonly isTranslated: boolean;
  readonly streams: boolean;
  readonly credential: Exclude<ProviderCredential, { kind: 'missing' }>;
}

/** Headers of a request to a provider without its request id, as name, value, name, value. */
export function providerHeaders({ spec, client, isTranslated, streams, credential }: ProviderHeadersInput): string[] {
  const headers = new Map<string, string>([
    ['content-type', 'application/json'],
    ['accept', streams ? 'text/event-stream' : 'application/json'],
    ['accept-encoding', 'identity'],
    ['user-agent', 'kvasir-router'],
  ]);
  if (spec.providerType === 'Anthropic') headers.set('anthropic-version', ANTHROPIC_VERSION);
  for (const name of [...FORWARDED, ...(isTranslated ? [] : OWN_API[spec.providerType])]) {
    const value = client[name];
    if (typeof value === 'string' && value !== '') headers.set(name, value);
  }
  for (const [name, value] of Object.entries(spec.headers ?? {})) {
    if (!RESERVED_HEADERS.has(name.toLowerCase())) headers.set(name.toLowerCase(), value);
  }
  if (credential.kind === 'header') headers.set(credential.name, credential.value);
  return [...headers].flat();
}
