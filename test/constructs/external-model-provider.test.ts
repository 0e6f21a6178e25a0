import { Chart, Testing } from 'cdk8s';
import {
  Cluster,
  ExternalModelProvider,
  type ExternalModelProviderProps,
  GitOpsApp,
  type GitOpsAppProps,
  Router,
  SecretRef,
} from '../../constructs';
import { synth } from '../../constructs/testing';
import { coreObjectProblems } from '../helpers/core-object-problems';
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

describe('the Secret of an ExternalModelProvider', () => {
  const credential = SecretRef.existing('cloud', 'token');

  /** @param routers names of the routers that the app installs after the provider. */
  function stack(props: Partial<ExternalModelProviderProps>, routers: readonly string[], settings: GitOpsAppProps = {}) {
    const app = new GitOpsApp({ outdir: '/nonexistent/never-written', ...settings });
    const models = new Chart(app, 'models', { namespace: 'llm' });
    new ExternalModelProvider(models, 'cloud', { baseUrl: 'https://api.example.com', ...props });
    const system = new Chart(app, 'system', { namespace: 'system' });
    for (const name of routers) new Router(system, name, { name, image: 'router:1' });
    const codes = app.check().open.map(({ code }) => code);
    return { objects: synth(models), codes };
  }

  it('may be read by the routers of the app, and no other Secret of the namespace', () => {
    const { objects, codes } = stack({ credential }, ['r-2', 'r-1']);
    expect(objects.get('Role', 'cloud-credential')).toMatchObject({
      rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['cloud'], verbs: ['get', 'list', 'watch'] }],
    });
    expect(objects.get('RoleBinding', 'cloud-credential')).toMatchObject({
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'cloud-credential' },
      subjects: [
        { kind: 'ServiceAccount', name: 'r-1', namespace: 'system' },
        { kind: 'ServiceAccount', name: 'r-2', namespace: 'system' },
      ],
    });
    expect([...objects.ofKind('Role'), ...objects.ofKind('RoleBinding')].flatMap(coreObjectProblems)).toEqual([]);
    expect(codes).not.toContain('external-model-provider/unread-secret');
  });

  it('may be read by routers of another app that are named', () => {
    const { objects, codes } = stack({ credential, routers: [{ name: 'kvasir-router', namespace: 'kvasir-system' }] }, ['r-1']);
    expect(objects.get('RoleBinding', 'cloud-credential')).toMatchObject({
      subjects: [{ kind: 'ServiceAccount', name: 'kvasir-router', namespace: 'kvasir-system' }],
    });
    expect(codes).not.toContain('external-model-provider/unread-secret');
  });

  it('is told when nobody may read it', () => {
    expect(stack({ credential }, []).codes).toContain('external-model-provider/unread-secret');
  });

  it.each<[string, Partial<ExternalModelProviderProps>, GitOpsAppProps]>([
    ['there is none', {}, {}],
    ['somebody else does', { credential, routers: [] }, {}],
    [
      "Kthena's router serves routes, which may read every Secret",
      { credential },
      { cluster: Cluster.of({ kthena: 'networking' }) },
    ],
  ])('is not granted where %s', (_, props, settings) => {
    const { objects, codes } = stack(props, [], settings);
    expect([...objects.ofKind('Role'), ...objects.ofKind('RoleBinding')]).toEqual([]);
    expect(codes).not.toContain('external-model-provider/unread-secret');
  });
});
