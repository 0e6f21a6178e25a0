import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseCredentials } from '../../../../runtime/cluster/kubernetes/choose-credentials';
import { inClusterCredentials } from '../../../../runtime/cluster/kubernetes/in-cluster-credentials';
import { kubeconfigCredentials } from '../../../../runtime/cluster/kubernetes/kubeconfig-credentials';

const folder = mkdtempSync(join(tmpdir(), 'kvasir-credentials-'));
const file = join(folder, 'kubeconfig');
afterAll(() => rmSync(folder, { recursive: true }));

const config = {
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [
    {
      name: 'one',
      cluster: { server: 'https://one.example.com/k8s/', 'certificate-authority-data': Buffer.from('CA').toString('base64') },
    },
    { name: 'two', cluster: { server: 'https://two.example.com', 'insecure-skip-tls-verify': true, 'tls-server-name': 'api' } },
  ],
  users: [
    { name: 'token', user: { token: 't1' } },
    { name: 'password', user: { username: 'me', password: 'p' } },
    {
      name: 'plugin',
      user: {
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: process.execPath,
          args: [
            '-e',
            `console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token: 'from-a-plugin' } }))`,
          ],
          interactiveMode: 'Never',
        },
      },
    },
  ],
  contexts: [
    { name: 'first', context: { cluster: 'one', user: 'token', namespace: 'mine' } },
    { name: 'second', context: { cluster: 'two', user: 'password' } },
    { name: 'third', context: { cluster: 'one', user: 'plugin' } },
  ],
  'current-context': 'first',
};

describe('credentials of a kubeconfig', () => {
  beforeAll(() => writeFileSync(file, JSON.stringify(config)));

  it('are those of the current context', async () => {
    const credentials = await kubeconfigCredentials({ file });
    expect([credentials.server, credentials.namespace]).toEqual(['https://one.example.com/k8s', 'mine']);
    const { headers, ca } = await credentials.connection();
    expect(headers).toEqual({ authorization: 'Bearer t1' });
    expect(String(ca)).toBe('CA');
  });

  it('are those of the context that was named', async () => {
    const credentials = await kubeconfigCredentials({ file, context: 'second' });
    expect([credentials.server, credentials.namespace]).toEqual(['https://two.example.com', 'default']);
    expect(await credentials.connection()).toMatchObject({
      headers: { authorization: `Basic ${Buffer.from('me:p').toString('base64')}` },
      rejectUnauthorized: false,
      servername: 'api',
    });
  });

  it('come from a plugin where the user has one', async () => {
    const credentials = await kubeconfigCredentials({ file, context: 'third' });
    expect((await credentials.connection()).headers).toEqual({ authorization: 'Bearer from-a-plugin' });
  });

  it('of a context that is not there name those that are', async () => {
    await expect(kubeconfigCredentials({ file, context: 'fourth' })).rejects.toThrow(
      '--context: the kubeconfig has no context fourth; use one of first, second, third [cluster/context]',
    );
  });

  it('of a file that is no kubeconfig say so', async () => {
    const other = join(folder, 'other');
    writeFileSync(other, 'clusters: {');
    await expect(kubeconfigCredentials({ file: other })).rejects.toThrow('[cluster/kubeconfig]');
  });
});

describe('credentials of a pod', () => {
  const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };

  it('are read anew for each request', async () => {
    for (const [name, text] of Object.entries({ namespace: 'llm\n', 'ca.crt': 'CA', token: 'one\n' }))
      writeFileSync(join(folder, name), text);
    const credentials = inClusterCredentials({ environment, folder });
    expect([credentials.server, credentials.namespace]).toEqual(['https://[fd00::1]:6443', 'llm']);
    expect(await credentials.connection()).toEqual({ ca: 'CA', headers: { authorization: 'Bearer one' } });
    writeFileSync(join(folder, 'token'), 'two');
    expect((await credentials.connection()).headers).toEqual({ authorization: 'Bearer two' });
  });

  it('are not asked for where a kubeconfig was named', async () => {
    expect((await chooseCredentials({ file }, environment)).server).toBe('https://one.example.com/k8s');
    await expect(chooseCredentials({}, environment)).rejects.toThrow('[cluster/no-service-account]');
  });
});
