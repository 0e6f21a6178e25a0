import type { ManifestCluster } from '../../../../runtime/cluster/manifests';
import type { KubeObject } from '../../../../src/api/meta';
import type { ModelServer } from '../../../../src/api/model-server';
import { expandWorkload } from '../../../../src/expand/expand-workload';
import { ManifestFolder } from '../../../helpers/manifest-folder';
import { modelServerOf } from '../../../helpers/router-cluster';
import { deploymentOf, servingOf, statefulSetOf } from '../../../helpers/workload-objects';

/** Labels that pods of a workload have, of those that a ModelServer may select by. */
function labelsOf(workload: KubeObject): Readonly<Record<string, string>> {
  return expandWorkload(workload)!.pods[0]!.pod.metadata.labels!;
}

function awake(workload: KubeObject & { readonly spec: object }): KubeObject {
  return { ...workload, spec: { ...workload.spec, replicas: 1 } } as KubeObject;
}

describe('the wake signal of a folder', () => {
  let folder: ManifestFolder;
  let cluster: ManifestCluster;
  const open = async (...objects: readonly KubeObject[]): Promise<void> => {
    folder = new ManifestFolder(objects);
    cluster = await folder.open();
  };
  const sleepers = (server: ModelServer) => cluster.wake!.sleepersOf(server);
  afterEach(() => folder.close());

  it.each([
    ['Deployment', deploymentOf('a', { replicas: 0 }), { app: 'a' }],
    ['StatefulSet', statefulSetOf('a', { replicas: 0 }), { app: 'a' }],
    ['ModelServing', servingOf('a', { replicas: 0 }), { 'modelserving.volcano.sh/name': 'a' }],
  ] as const)('finds the %s at zero replicas whose pods a ModelServer would select', async (kind, workload, matchLabels) => {
    expect(labelsOf(awake(workload))).toMatchObject(matchLabels);
    await open(workload, deploymentOf('other', { replicas: 0 }));
    const found = sleepers(modelServerOf('a', { workloadSelector: { matchLabels } }));
    expect(found).toMatchObject([{ target: { kind, namespace: 'default', name: 'a' }, isAsleep: true }]);
    expect(sleepers(modelServerOf('b'))).toEqual([]);
    await folder.put(awake(workload));
    expect(sleepers(modelServerOf('a', { workloadSelector: { matchLabels } }))).toMatchObject([{ isAsleep: false }]);
  });

  it('takes no workload of another namespace, and none for a selector that is empty', async () => {
    const elsewhere = deploymentOf('a', { replicas: 0 });
    await open({ ...elsewhere, metadata: { ...elsewhere.metadata, namespace: 'elsewhere' } });
    expect(sleepers(modelServerOf('a'))).toEqual([]);
    expect(sleepers(modelServerOf('a', { workloadSelector: { matchLabels: {} } }))).toEqual([]);
  });

  it('is a Lease of the target, renewed at each call', async () => {
    await open(deploymentOf('a', { replicas: 0 }));
    const [sleeper] = sleepers(modelServerOf('a'));
    const first = await cluster.wake!.wake(sleeper!);
    expect(first).toMatchObject({ kind: 'applied' });
    expect(await cluster.wake!.wake(sleeper!)).toEqual({ ...first, kind: 'unchanged' });
    folder.clock.advance(5_000);
    const second = await cluster.wake!.wake(sleeper!);
    expect(second).toMatchObject({ kind: 'applied' });
    expect(second).not.toEqual(first);
  });
});
