import type { Pod } from '../../../../src/api/pod';
import { AutoscalerRig, homogeneousSpec, policyOf, runningPage } from '../../../helpers/autoscaler-rig';
import { readyPod } from '../../../helpers/fake-autoscaler-cluster';
import { modelRoute } from '../../../helpers/router-harness';
import { serverFor } from '../../../helpers/workload-objects';

let rig: AutoscalerRig;

afterEach(() => rig.close());

const active = (mine: number, other = 0): string =>
  `# TYPE kthena_router_active_downstream_requests gauge
kthena_router_active_downstream_requests{model="m"} ${mine}
kthena_router_active_downstream_requests{model="other"} ${other}
`;

/** Deployment `chat` of one idle pod that may go to zero at once, to which a route for model `m` leads. */
async function open(): Promise<void> {
  rig = await AutoscalerRig.open();
  rig.cluster.target('Deployment', 'chat', 1);
  rig.cluster.templates.set('chat', [{ metadata: { name: 'chat', labels: { app: 'chat' } }, spec: { containers: [] } }]);
  rig.pods('chat', 1, runningPage(0));
  const spec = homogeneousSpec('chat', rig.pages.port);
  rig.cluster.put(
    serverFor('chat', { workloadPort: { port: rig.pages.port } }),
    modelRoute('m', 'chat', { modelName: 'm' }),
    policyOf('p', {
      spec: {
        ...spec,
        homogeneousTarget: { ...spec.homogeneousTarget, minReplicas: 0 },
        behavior: { scaleDown: { stabilizationWindow: '0s', period: '0s' } },
      },
    }),
  );
}

/** @param phase of its pod. */
function router(number: number, page: string | undefined, phase: 'Running' | 'Pending' = 'Running', isReady = true): void {
  const host = `127.0.7.${number + 1}`;
  const pod = readyPod(`router-${number}`, { app: 'kvasir-router' }, host);
  const annotations = { 'kvasir.dev/port-map': `9090=${rig.pages.port}` };
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' } as const];
  const seen: Pod = { ...pod, metadata: { ...pod.metadata, annotations }, status: { ...pod.status, phase, conditions } };
  rig.cluster.put(seen);
  if (page === undefined) rig.pages.byHost.delete(host);
  else rig.pages.byHost.set(host, page);
}

/** What became of the target after some rounds, and why. */
async function outcome(): Promise<{ readonly desired: number; readonly why: string | undefined }> {
  for (let round = 0; round < 3; round++) await rig.round();
  const [unit] = rig.decisions.at(-1)!.units;
  return { desired: unit!.desired, why: unit!.limits.find(({ rule }) => rule === 'busy')?.by };
}

describe('a target goes to zero', () => {
  it('when no router has a request for its model, whatever they have for others', async () => {
    await open();
    router(0, active(0, 7));
    router(1, '');
    expect(await outcome()).toEqual({ desired: 0, why: undefined });
  });

  it('not while one router of several has a request that its engines do not know of', async () => {
    await open();
    router(0, active(0));
    router(1, active(1));
    expect(await outcome()).toEqual({ desired: 1, why: 'router pod router-1 has requests' });
    router(1, active(0));
    expect(await outcome()).toEqual({ desired: 0, why: undefined });
  });

  it('not while a router cannot be asked', async () => {
    await open();
    router(0, active(0));
    router(1, undefined);
    const { desired, why } = await outcome();
    expect([desired, why]).toEqual([1, expect.stringMatching(/^whether router pod router-1 has requests cannot be read: http/)]);
  });

  it('not while a router that is draining has a request, and without waiting for one that never ran', async () => {
    await open();
    router(0, active(2), 'Running', false);
    router(1, undefined, 'Pending', false);
    expect(await outcome()).toEqual({ desired: 1, why: 'router pod router-0 has requests' });
    router(0, active(0), 'Running', false);
    expect(await outcome()).toEqual({ desired: 0, why: undefined });
  });
});
