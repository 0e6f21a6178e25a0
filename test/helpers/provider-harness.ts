import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExternalModelProvider } from '../../src/api/external-model-provider';
import type { KubeObject } from '../../src/api/meta';
import type { TargetModel } from '../../src/api/model-route';
import { Labels, NETWORKING_API_VERSION } from '../../src/labels';
import { routerConfig, startTestRouter, TestEngine, type TestRouter, type TestRouterOptions } from './router-harness';

const TLS = join(__dirname, '../fixtures/tls');

/** File of the authority that signed the test providers' certificate. */
export const AUTHORITY_FILE = join(TLS, 'authority.pem');

/** A server that is reached as providers are: by https, with a certificate for 127.0.0.1. */
export function testProvider(answer: TestEngine['answer']): Promise<TestEngine> {
  const read = (name: string): string => readFileSync(join(TLS, name), 'utf8');
  return new TestEngine(answer, { key: read('server-key.pem'), cert: read('server.pem') }).start();
}

export function providerObject(name: string, baseURL: string, spec: Partial<ExternalModelProvider['spec']> = {}): KubeObject {
  return {
    apiVersion: NETWORKING_API_VERSION,
    kind: 'ExternalModelProvider',
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      providerType: 'OpenAI',
      baseURL,
      insecureSkipVerify: false,
      auth: { secretRef: { name: `${name}-secret`, key: 'token' } },
      ...spec,
    },
  } as KubeObject;
}

export const CREDENTIAL_LABEL = `${Labels.providerCredential}=true`;

export interface ProviderRouterOptions extends Omit<TestRouterOptions, 'engines' | 'route'> {
  readonly engines?: readonly TestEngine[];
  readonly targets?: readonly Partial<TargetModel>[];
}

/** A router whose one route goes to the provider `cloud`, or to `targets`; the engines' ModelServer is `server`. */
export function startProviderRouter(options: ProviderRouterOptions = {}): Promise<TestRouter> {
  const { engines = [], targets = [{ externalModelProviderName: 'cloud' }], ...rest } = options;
  const targetModels = targets.map((target) => ({ weight: 100, ...target }));
  return startTestRouter({
    config: routerConfig({ providers: { caFile: AUTHORITY_FILE }, retry: { intervalMs: 1 } }),
    ...rest,
    engines,
    route: { rules: [{ name: 'all', targetModels }] },
  });
}

/** Adds a provider with its credential to a router's cluster. */
export function addProvider(
  { cluster }: TestRouter,
  { port }: TestEngine,
  spec: Partial<ExternalModelProvider['spec']> & { readonly name?: string; readonly path?: string } = {},
): void {
  const { name = 'cloud', path = '', ...rest } = spec;
  cluster.putSecret(`default/${name}-secret`, CREDENTIAL_LABEL, { token: `sk-${name}\n` });
  cluster.put(providerObject(name, `https://127.0.0.1:${port}${path}`, rest));
}
