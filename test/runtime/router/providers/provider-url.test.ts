import { providerHeaders } from '../../../../runtime/router/providers/provider-headers';
import { providerUrl } from '../../../../runtime/router/providers/provider-url';
import { translationFor } from '../../../../runtime/router/providers/translation';
import type { ExternalModelProvider } from '../../../../src/api/external-model-provider';

type Spec = ExternalModelProvider['spec'];
const spec = (providerType: Spec['providerType'], baseURL: string, more: Partial<Spec> = {}): Spec => ({
  providerType,
  baseURL,
  insecureSkipVerify: false,
  ...more,
});

describe('the address of a provider', () => {
  it.each<[Spec['providerType'], string, string, string]>([
    ['OpenAI', 'https://api.deepseek.com', '/v1/chat/completions', 'api.deepseek.com:443/v1/chat/completions'],
    ['OpenAI', 'https://api.deepseek.com/', '/v1/completions', 'api.deepseek.com:443/v1/completions'],
    ['OpenAI', 'https://h/v1', '/v1/chat/completions', 'h:443/v1/chat/completions'],
    ['OpenAI', 'https://h:8443/v1beta/openai', '/v1/chat/completions', 'h:8443/v1beta/openai/chat/completions'],
    ['Anthropic', 'https://api.anthropic.com', '/v1/messages', 'api.anthropic.com:443/v1/messages'],
    ['Anthropic', 'https://gw/anthropic', '/v1/messages', 'gw:443/anthropic/v1/messages'],
    ['Anthropic', 'https://gw/anthropic/v1/', '/v1/messages/count_tokens', 'gw:443/anthropic/v1/messages/count_tokens'],
    ['Anthropic', 'https://gw/notv1', '/v1/messages', 'gw:443/notv1/v1/messages'],
    ['OpenAI', 'https://[2001:db8::1]/', '/v1/completions', '2001:db8::1:443/v1/completions'],
  ])('of type %s at %s with %s is %s', (type, baseURL, path, expected) => {
    const url = providerUrl(spec(type, baseURL), path);
    expect(`${url?.host}:${url?.port}${url?.path}`).toBe(expected);
  });

  it.each(['http://h', 'nonsense', 'https://'])('is none for %s', (baseURL) => {
    expect(providerUrl(spec('OpenAI', baseURL), '/v1/completions')).toBeUndefined();
  });
});

describe('the headers of a request to a provider', () => {
  const headersOf = (given: Spec, client: Record<string, string>, isTranslated = false) => {
    const flat = providerHeaders({ spec: given, client, isTranslated, streams: true, credential: { kind: 'none' } });
    return Object.fromEntries(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]]] : [])));
  };

  it('are the provider’s own over the client’s, but for those that the router sets', () => {
    const given = spec('Anthropic', 'https://h', { headers: { 'Anthropic-Version': '2026-10-21', Host: 'evil', Cookie: 'c' } });
    expect(headersOf(given, { 'anthropic-version': '2023-06-01', accept: '*/*' })).toEqual({
      'content-type': 'application/json',
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': 'kvasir-router',
      'anthropic-version': '2026-10-21',
    });
  });

  it('say nothing of the client’s API where the request is translated', () => {
    expect(headersOf(spec('OpenAI', 'https://h'), { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'b' }, true)).toEqual({
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': 'kvasir-router',
    });
  });
});

it.each([
  ['https://api.openai.com/v1', 'max_completion_tokens'],
  ['https://acme.openai.azure.com/openai/v1', 'max_completion_tokens'],
  ['https://api.deepseek.com', 'max_tokens'],
  ['https://notopenai.com', 'max_tokens'],
])('a limit is sent to %s as %s', (baseURL, member) => {
  const { request } = translationFor(spec('OpenAI', baseURL), () => 0);
  expect(request({ max_tokens: 7, messages: [] }, 'm')).toEqual({ model: 'm', messages: [], [member]: 7 });
});
