import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelRouteOf } from '../helpers/router-cluster';
import { runCli } from '../helpers/run-cli';
import { deploymentOf, policyFor, serverFor } from '../helpers/workload-objects';
import { hasControlPlane, openTestCluster, type TestCluster } from './control-plane';
import { allDefinitions } from './definitions';
import { KubeAdmin } from './kube-admin';

const describeHere = hasControlPlane() ? describe : describe.skip;

describeHere('kvasir get, status and explain over a Kubernetes API', () => {
  let plane: TestCluster;
  let admin: KubeAdmin;
  const folder = mkdtempSync(join(tmpdir(), 'kvasir-look-'));
  const objects = [
    deploymentOf('chat', { replicas: 2 }),
    serverFor('chat'),
    modelRouteOf('chat', { modelName: 'chat', to: 'chat' }),
    modelRouteOf('lost', { modelName: 'lost', to: 'nobody' }),
    policyFor('chat'),
  ];

  beforeAll(async () => {
    plane = await openTestCluster();
    admin = new KubeAdmin(plane.credentials);
    await admin.apply(...allDefinitions());
    await admin.apply(...objects);
    await admin.until('both pods are ready', async () => {
      const { stdout } = await look('get', 'pods', '--json');
      const { pods } = JSON.parse(stdout) as { readonly pods: readonly { readonly isReady: boolean }[] };
      return pods.filter(({ isReady }) => isReady).length === 2;
    });
  }, 600_000);

  afterAll(async () => {
    await admin?.remove(...objects).catch(() => undefined);
    admin?.close();
    await plane?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const look = (...argv: readonly string[]) => runCli(...argv, '--cluster', 'kubernetes', '--kubeconfig', plane.kubeconfig);

  it('lists models and pods as they are', async () => {
    const { code, stdout } = await look('get', 'models', '-n', 'default');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^chat +Ready +2\/2 /m);
    expect(stdout).toMatch(/^lost +Unreachable +– /m);
    expect((await look('get', 'pods')).stdout).toMatch(/^default +chat-\S+ +1\/1 +Running +\d+s$/m);
  });

  it('tells on half a page what is wrong with each model', async () => {
    const { stdout } = await look('status');
    expect(stdout).toContain('pods     Deployment default/chat  2/2 ready');
    expect(stdout).toContain('there is no ModelServer "nobody" in namespace default');
    expect(stdout).toContain('no autoscaler has acted on it yet');
  });

  it('explains a pod and a request', async () => {
    const { stdout } = await look('get', 'pods', '--json');
    const { pods } = JSON.parse(stdout) as { readonly pods: readonly { readonly name: string }[] };
    expect((await look('explain', 'pod', pods[0]!.name)).stdout).toContain('made by   Deployment default/chat');
    expect((await look('explain', 'request', '--model', 'chat')).stdout).toContain('ModelServer default/chat  2/2 pods ready');
  });

  it('says in one line that an API does not answer', async () => {
    const file = join(folder, 'nowhere.yaml');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:9' } }],
      users: [{ name: 'u', user: { token: 't' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    writeFileSync(file, JSON.stringify(config));
    const { code, lines } = await runCli('status', '--cluster', 'kubernetes', '--kubeconfig', file);
    expect(code).toBe(1);
    expect(lines).toEqual([
      expect.stringMatching(/nothing could be listed at https:\/\/127\.0\.0\.1:9: .*ECONNREFUSED.*\[cluster\/nothing-listed\]$/),
    ]);
  });
});
