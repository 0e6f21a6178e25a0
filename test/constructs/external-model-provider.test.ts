import { Chart, Testing } from 'cdk8s';
import { ExternalModelProvider, type ExternalModelProviderProps, SecretRef } from '../../constructs';
import { synth } from '../../constructs/testing';
import { crdProblems } from '../helpers/crd-problems';

function provider(props: Partial<ExternalModelProviderProps> = {}) {
  const chart = new Chart(Testing.app(), 'c');
  new ExternalModelProvider(chart, 'cloud', { baseUrl: 'https://api.example.com', ...props });
  return synth(chart).get('ExternalModelProvider', props.name ?? 'cloud');
}

describe('an ExternalModelProvider', () => {
  it.each<[string, Partial<ExternalModelProviderProps>, object]>([
    ['speaks OpenAI without a credential', {}, { providerType: 'OpenAI', insecureSkipVerify: false }],
    [
      'sends the credential of a Secret the way it is told',
      { type: 'Anthropic', credential: SecretRef.existing('cloud', 'token'), scheme: 'APIKey', model: 'm-large' },
      {
        providerType: 'Anthropic',
        model: 'm-large',
        auth: { scheme: 'APIKey', secretRef: { name: 'cloud', key: 'token' } },
        insecureSkipVerify: false,
      },
    ],
    [
      'adds headers, and accepts any certificate when told so',
      { headers: { 'x-team': 'a' }, insecureSkipVerify: true },
      { providerType: 'OpenAI', headers: { 'x-team': 'a' }, insecureSkipVerify: true },
    ],
  ])('%s', (_, props, spec) => {
    const made = provider(props);
    expect(made.spec).toEqual({ baseURL: 'https://api.example.com', ...spec });
    expect(crdProblems(made)).toEqual([]);
  });

  it.each<[string, Partial<ExternalModelProviderProps>, RegExp]>([
    ['a plain address', { baseUrl: 'http://api.example.com' }, /spec\.baseURL/],
    ['a credential among the headers', { headers: { Authorization: 'x' } }, /use auth for credentials/],
  ])('is refused at synth with %s', (_, props, message) => {
    expect(() => provider(props)).toThrow(message);
  });

  it('tells which label its Secret needs to be seen by a router', () => {
    expect(ExternalModelProvider.secretLabels).toEqual({
      'networking.serving.volcano.sh/external-model-provider-credential': 'true',
    });
  });
});
