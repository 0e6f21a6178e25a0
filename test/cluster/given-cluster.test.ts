import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolders } from '../helpers/temporary-folder';
import { ControlPlane, hasGo, openTestCluster } from './control-plane';
import { kubeconfigOf } from './image-process';
import { KubeAdmin } from './kube-admin';

const describeHere = hasGo() ? describe : describe.skip;

describeHere('the cluster that KUBECONFIG_TEST names', () => {
  const newFolder = temporaryFolders();
  const saved = process.env.KUBECONFIG_TEST;
  let plane: ControlPlane;
  let admin: KubeAdmin;

  beforeAll(async () => {
    plane = await ControlPlane.start({ workers: false });
    admin = new KubeAdmin(plane.credentials);
  }, 600_000);

  afterEach(() => {
    if (saved === undefined) delete process.env.KUBECONFIG_TEST;
    else process.env.KUBECONFIG_TEST = saved;
  });

  afterAll(async () => {
    admin?.close();
    await plane?.close();
  });

  it('is tested against, and is left as it is', async () => {
    process.env.KUBECONFIG_TEST = plane.kubeconfig;
    const given = await openTestCluster();
    expect([given.credentials.server, given.kubeconfig]).toEqual([plane.server, plane.kubeconfig]);
    await given.close();
    expect(await admin.list({ apiVersion: 'v1', kind: 'Namespace' })).not.toEqual([]);
  });

  it('is not used as somebody who may not do everything', async () => {
    const file = join(newFolder(), 'nobody');
    writeFileSync(file, JSON.stringify(await kubeconfigOf(await admin.serviceAccount('default', 'nobody'))));
    process.env.KUBECONFIG_TEST = file;
    await expect(openTestCluster()).rejects.toThrow(
      `KUBECONFIG_TEST=${file}: ${plane.server} does not let that user do everything; name a cluster that tests may change, or unset it`,
    );
  });

  it('is told of in one line when it does not answer', async () => {
    process.env.KUBECONFIG_TEST = plane.kubeconfig;
    await plane.stopApi('SIGKILL');
    await expect(openTestCluster()).rejects.toThrow(
      /^KUBECONFIG_TEST=.*: https:\/\/127\.0\.0\.1:\d+ says: .*ECONNREFUSED.*; name/,
    );
  });
});
