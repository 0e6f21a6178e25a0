import { SYNC_WAVE } from '../../constructs/gitops/sync-wave';
import { describeObject, type KubeObject } from '../../src/api/meta';
import { readManifests } from '../../src/read-manifests';
import { EXAMPLES, synthesizeExamples } from '../helpers/all-examples';
import { filesUnder, temporaryFolders } from '../helpers/temporary-folder';
import { ControlPlane, hasGo } from './control-plane';
import { definitionsBeforeExamples } from './definitions';
import { FaultProxy } from './fault-proxy';
import { KubeAdmin } from './kube-admin';

/** As whom Argo CD applies from the server's side, with --force-conflicts. */
const ARGO_CD = 'argocd-controller';
/** Argo CD makes them: CreateNamespace=true. */
const NAMESPACES = ['kvasir-system', 'llm', 'argocd'];
/** First the one whose admission policies then judge the others. */
const IN_TURN = [...EXAMPLES].sort((a, b) => Number(b === 'production-platform') - Number(a === 'production-platform'));

const describeHere = hasGo() ? describe : describe.skip;

describeHere('the output of examples on a Kubernetes API, applied from the server’s side as Argo CD does', () => {
  const newFolder = temporaryFolders();
  const outdir = newFolder();
  let plane: ControlPlane;
  let proxy: FaultProxy;
  let argo: KubeAdmin;

  beforeAll(async () => {
    // No controllers at first: whatever changes, changes by what is applied.
    [plane] = await Promise.all([ControlPlane.start({ workers: false }), synthesizeExamples(outdir)]);
    proxy = await FaultProxy.start(plane.credentials);
    argo = new KubeAdmin(proxy.credentials(), ARGO_CD);
    await argo.apply(...definitionsBeforeExamples());
    for (const name of NAMESPACES) await argo.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    // Of the company's cluster; `production-platform` names it.
    await argo.apply({
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: 'production' },
      ...{ value: 1000 },
    });
  }, 600_000);

  afterAll(async () => {
    argo?.close();
    await proxy?.close();
    await plane?.close();
  });

  /** In the order of Argo CD's waves. */
  function objectsOf(example: string): readonly KubeObject[] {
    const waveOf = ({ metadata }: KubeObject): number => Number(metadata.annotations?.[SYNC_WAVE] ?? 0);
    return Object.entries(filesUnder(outdir))
      .filter(([path]) => path.startsWith(`${example}/`) && path.endsWith('.yaml'))
      .flatMap(([path, text]) => readManifests(text, path).objects.map(({ object }) => object))
      .sort((a, b) => waveOf(a) - waveOf(b));
  }

  it.each(IN_TURN)(
    '%s: all is taken without a warning, and the second time nothing changes',
    async (example) => {
      const objects = objectsOf(example);
      expect(objects.length).toBeGreaterThan(20);
      proxy.warnings.length = 0;
      await argo.apply(...objects);
      const claims = objects.filter(({ kind }) => kind === 'PersistentVolumeClaim');
      // The API server stores every claim once more at its second apply, whatever is in it and whoever applies it.
      await argo.apply(...claims);
      const present = await Promise.all(objects.map((object) => argo.get(object)));
      expect(await argo.apply(...objects)).toEqual(present);
      expect(proxy.warnings).toEqual([]);
      // Examples are stacks of their own, with claims of one name and unlike sizes, and a claim does not shrink.
      await argo.letGo(...claims);
      await argo.remove(...claims);
    },
    60_000,
  );

  it('would be refused with a field too much, and warned of what will end', async () => {
    const deployment = objectsOf('quickstart').find(({ kind }) => kind === 'Deployment') as KubeObject & {
      readonly spec: object;
    };
    const wrong = { ...deployment, spec: { ...deployment.spec, replica: 2 } };
    await expect(argo.apply(wrong)).rejects.toThrow(/\.spec\.replica: field not declared in schema/);
    await argo.apply({ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'old' } });
    expect(proxy.warnings).toEqual([expect.stringMatching(/Endpoints is deprecated/)]);
  });

  it('has pods that controllers can make', async () => {
    await plane.startWorkers();
    const deployments = IN_TURN.flatMap((example) => objectsOf(example).filter(({ kind }) => kind === 'Deployment'));
    const made = async (): Promise<readonly string[]> => {
      const found = await Promise.all(deployments.map((each) => argo.get<DeploymentSeen>(each as DeploymentSeen)));
      return found.flatMap((each) => (each!.status?.replicas === each!.spec.replicas ? [] : [describeObject(each!)]));
    };
    await argo.until('every Deployment has its pods', async () => (await made()).length === 0, 60_000);
  }, 90_000);
});

interface DeploymentSeen extends KubeObject {
  readonly spec: { readonly replicas: number };
  readonly status?: { readonly replicas?: number };
}
