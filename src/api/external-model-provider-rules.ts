import type { ExternalModelProvider } from './external-model-provider';
import { fieldPath } from './field-path';
import { error, type Problem, shown } from './problem';

/** Headers that the router sets itself, or that belong to one connection only. */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'host',
  'content-length',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'trailer',
  'te',
]);
/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** What Kthena's CEL rule and webhook ask of an ExternalModelProvider. */
export function* externalModelProviderRules({ spec }: ExternalModelProvider): Iterable<Problem> {
  yield* baseUrlRules(spec.baseURL);
  for (const [name, value] of Object.entries(spec.headers ?? {})) {
    const field = fieldPath('spec.headers', name);
    if (!TOKEN.test(name)) yield error(field, 'external-model-provider/header', `${shown(name)} is no header name`, 'rename it');
    else if (RESERVED_HEADERS.has(name.toLowerCase())) {
      yield error(
        field,
        'external-model-provider/reserved-header',
        `${name} is set by the router`,
        'remove it; use auth for credentials',
      );
    }
    if (/[\r\n]/.test(value))
      yield error(field, 'external-model-provider/header', 'the value has a line break', 'write it in one line');
  }
  if (spec.auth === undefined) return;
  const { name, key, optional } = spec.auth.secretRef;
  if (name === '') yield error('spec.auth.secretRef.name', 'external-model-provider/secret', 'empty', 'name the Secret');
  if (key === '') yield error('spec.auth.secretRef.key', 'external-model-provider/secret', 'empty', 'name the key in the Secret');
  if (optional === true) {
    yield error(
      'spec.auth.secretRef.optional',
      'external-model-provider/optional-secret',
      'true',
      'remove it: a credential is never optional',
    );
  }
}

function* baseUrlRules(baseURL: string): Iterable<Problem> {
  const field = 'spec.baseURL';
  const url = URL.canParse(baseURL) ? new URL(baseURL) : undefined;
  if (url === undefined || url.protocol !== 'https:' || url.hostname === '') {
    yield error(
      field,
      'external-model-provider/base-url',
      `${shown(baseURL)} is no https URL`,
      'write it like https://api.example.com',
    );
  } else if (url.username !== '' || url.password !== '' || /[?#]/.test(baseURL)) {
    yield error(
      field,
      'external-model-provider/base-url',
      `${shown(baseURL)} has a user, query or fragment`,
      'leave them out; use auth for credentials',
    );
  }
}
