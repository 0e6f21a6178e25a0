import type { ExternalModelProvider } from '../../../src/api/external-model-provider';
import { Labels } from '../../../src/labels';
import type { Secrets } from '../../cluster/cluster';

/** What is sent to a provider as its credential, or why there is none. Nothing of a value is ever part of a message. */
export type ProviderCredential =
  | { readonly kind: 'none' }
  | { readonly kind: 'header'; readonly name: 'authorization' | 'x-api-key'; readonly value: string }
  | { readonly kind: 'missing'; readonly message: string; readonly remedy: string };

/** Visible ASCII, with spaces inside. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Finds the credential of a provider among the Secrets that the router sees. */
export function providerCredential(provider: ExternalModelProvider, secrets: Secrets): ProviderCredential {
  const { auth, providerType } = provider.spec;
  if (auth === undefined) return { kind: 'none' };
  const { name, key } = auth.secretRef;
  const secretKey = `${provider.metadata.namespace ?? 'default'}/${name}`;
  const data = secrets.byLabel(Labels.providerCredential, 'true').get(secretKey);
  if (data === undefined) {
    return {
      kind: 'missing',
      message: `there is no Secret ${secretKey} with the label ${Labels.providerCredential}: "true"`,
      remedy: 'add it, or label it',
    };
  }
  // Only what the Secret holds itself: `constructor` is a key of every object.
  const bytes = Object.hasOwn(data, key) ? data[key] : undefined;
  const value = bytes?.toString('utf8').trim() ?? '';
  if (value === '') {
    return { kind: 'missing', message: `the Secret ${secretKey} has nothing under ${key}`, remedy: 'put the credential there' };
  }
  if (!HEADER_VALUE.test(value)) {
    return {
      kind: 'missing',
      message: `what the Secret ${secretKey} has under ${key} cannot stand in a header`,
      remedy: 'store the credential alone, in one line',
    };
  }
  const scheme = auth.scheme ?? (providerType === 'Anthropic' ? 'APIKey' : 'Bearer');
  return scheme === 'APIKey'
    ? { kind: 'header', name: 'x-api-key', value }
    : { kind: 'header', name: 'authorization', value: `Bearer ${value}` };
}
