import { ROUTER_KINDS, takeSnapshot } from '../../../runtime/cluster/cluster-snapshot';
import type { KubeObject } from '../../../src/api/meta';
import { ManifestFolder } from '../../helpers/manifest-folder';
import { deploymentOf, policyFor, serverFor, servingOf } from '../../helpers/workload-objects';

const SECRET = 'sk-very-secret';

/** An engine with tokens wherever people write them. */
const engine = {
  name: 'engine',
  image: 'vllm/vllm-openai:v0.32.0',
  command: ['vllm', 'serve', `--api-key=${SECRET}`],
  args: ['--api-key', SECRET],
  env: [{ name: 'HF_TOKEN', value: SECRET }],
  resources: { limits: { 'nvidia.com/gpu': '2' } },
};
const chat = deploymentOf('chat', {
  replicas: 2,
  template: {
    metadata: {
      labels: { app: 'chat', config: 'kept' },
      annotations: { 'kvasir.dev/accelerator': 'L40S-48GB', 'kvasir.dev/cost-per-replica-hour': '2.5' },
    },
    spec: { containers: [engine] },
  },
});
const cloud = {
  apiVersion: 'networking.serving.volcano.sh/v1alpha1',
  kind: 'ExternalModelProvider',
  metadata: { name: 'cloud', namespace: 'default' },
  spec: { providerType: 'OpenAI', baseURL: 'https://api.example.com', headers: { 'x-team': SECRET } },
} as KubeObject;

let folder: ManifestFolder;
afterEach(() => folder.close());

const openFolder = async (...objects: readonly KubeObject[]) => {
  folder = new ManifestFolder(objects);
  return folder.open();
};

describe('a snapshot of a cluster', () => {
  it('holds no environment value, command line, header value or annotation that repeats the object', async () => {
    const applied = {
      ...chat,
      metadata: { ...chat.metadata, annotations: { 'kubectl.kubernetes.io/last-applied-configuration': SECRET, kept: 'yes' } },
    };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'default' },
      spec: { containers: [engine] },
    } as KubeObject;
    const cluster = await openFolder(applied, pod, cloud, serverFor('chat'));
    const snapshot = await takeSnapshot(cluster, Date.parse('2026-12-01T00:00:00Z'));
    expect(JSON.stringify(snapshot)).not.toContain(SECRET);
    expect(snapshot.at).toBe('2026-12-01T00:00:00.000Z');
    expect(snapshot.objects.Deployment?.[0]?.metadata.annotations).toEqual({ kept: 'yes' });
    expect(JSON.stringify(snapshot.objects.Deployment)).toContain('"config":"kept"');
    expect(snapshot.objects.ExternalModelProvider?.[0]?.spec).toMatchObject({ headers: { 'x-team': '…' } });
  });

  it('tells of each workload what it asks for, what a replica is made of and costs, and who selects it', async () => {
    const cluster = await openFolder(chat, serverFor('chat'), policyFor('chat'));
    const { workloads } = await takeSnapshot(cluster, 0);
    expect(workloads).toEqual([
      {
        target: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'chat' },
        isThere: true,
        replicas: 2,
        podsWanted: 2,
        podsPerReplica: 1,
        accelerator: 'L40S-48GB',
        gpusPerPod: 2,
        costPerReplicaHour: 2.5,
        podLabels: [{ app: 'chat', config: 'kept' }],
        pods: [],
        servers: ['default/chat'],
      },
    ]);
  });

  it('counts the pods of groups, and knows a workload that a policy names and nobody has', async () => {
    const serving = servingOf('group', { replicas: 3 }) as KubeObject;
    const server = serverFor('group', { workloadSelector: { matchLabels: { 'modelserving.volcano.sh/name': 'group' } } });
    const cluster = await openFolder(serving, server, policyFor('nobody'));
    const { workloads } = await takeSnapshot(cluster, 0);
    expect(workloads).toMatchObject([
      { target: { name: 'group' }, replicas: 3, podsWanted: 6, podsPerReplica: 2, isThere: true },
      { target: { name: 'nobody' }, isThere: false, podLabels: [] },
    ]);
  });

  it('lists only what its reader may list', async () => {
    const { objects, wake } = await openFolder(chat, serverFor('chat'), policyFor('chat'));
    const snapshot = await takeSnapshot({ objects, wake }, 0, ROUTER_KINDS);
    expect(snapshot.kinds).toEqual(ROUTER_KINDS);
    expect(Object.keys(snapshot.objects)).toEqual(ROUTER_KINDS);
    expect(snapshot.workloads).toMatchObject([{ target: { name: 'chat' }, isThere: true, pods: [] }]);
    expect(snapshot.workloads[0]).not.toHaveProperty('replicas');
  });
});
