import { AutoscalerRig, runningPage } from '../../../helpers/autoscaler-rig';
import { readyPod } from '../../../helpers/fake-autoscaler-cluster';
import { modelRoute } from '../../../helpers/router-harness';
import { serverFor } from '../../../helpers/workload-objects';

let rig: AutoscalerRig;

afterEach(() => rig.close());

const queued = (mine: number, other = 0) =>
  `# TYPE kthena_router_fairness_queue_size gauge
kthena_router_fairness_queue_size{model="m",user_id="_all"} ${mine}
kthena_router_fairness_queue_size{model="other",user_id="_all"} ${other}
`;
const shed = (count: number) =>
  `# TYPE kvasir_router_queue_refusals_total counter
kvasir_router_queue_refusals_total{model="m",priority_class="none",code="queue_full"} ${count}
`;
const ttft = (slow: number) =>
  `# TYPE kvasir_router_time_to_first_token_seconds histogram
kvasir_router_time_to_first_token_seconds_bucket{model="m",le="1"} 0
kvasir_router_time_to_first_token_seconds_bucket{model="m",le="2"} ${slow}
kvasir_router_time_to_first_token_seconds_bucket{model="m",le="+Inf"} ${slow}
`;

/** Deployment `chat` of two pods, to which a route for model `m` leads, and a policy with one metric of its routers. */
async function open(metric: string, targetValue: number | string): Promise<void> {
  rig = await AutoscalerRig.open();
  rig.cluster.target('Deployment', 'chat', 2);
  rig.cluster.templates.set('chat', [{ metadata: { name: 'chat', labels: { app: 'chat' } }, spec: { containers: [] } }]);
  rig.pods('chat', 2, runningPage(0));
  rig.cluster.put(
    serverFor('chat'),
    modelRoute('m', 'chat', { modelName: 'm' }),
    rig.policy('p', 'chat', { metrics: [{ name: metric, targetValue }] }),
  );
}

function routers(...pages: readonly string[]): void {
  pages.forEach((page, i) => {
    const pod = readyPod(`router-${i}`, { app: 'kvasir-router' }, `127.0.7.${i + 1}`);
    const annotations = { 'kvasir.dev/port-map': `9090=${rig.pages.port}` };
    rig.cluster.put({ ...pod, metadata: { ...pod.metadata, annotations } });
    rig.pages.byHost.set(`127.0.7.${i + 1}`, page);
  });
}

const verdict = () => rig.decisions.at(-1)!.units[0]!.verdicts[0];

describe('what routers tell of a model', () => {
  it('requests that wait in all of them, and none of another model', async () => {
    await open('router:queued', 4);
    routers(queued(9, 100), queued(7));
    await rig.round();
    expect(verdict()).toEqual({ name: 'router:queued', replicas: 4 });
  });

  it('requests per second that they refused', async () => {
    await open('router:shed', '0.5');
    routers(shed(100));
    await rig.round();
    expect(verdict()?.missing).toContain('no window');
    routers(shed(130));
    await rig.round();
    // 30 in 15 seconds.
    expect(verdict()).toEqual({ name: 'router:shed', replicas: 4 });
  });

  it('the time to the first token, which each replica has', async () => {
    await open('router:ttft', 1);
    routers(ttft(0));
    await rig.round();
    routers(ttft(100));
    await rig.round();
    // 1.95 s at the 95th percentile, over two replicas.
    expect(verdict()).toEqual({ name: 'router:ttft', replicas: 4 });
  });

  it('is missing when one router does not answer, when there is none, and when no route leads to the target', async () => {
    await open('router:queued', 4);
    await rig.round();
    expect(verdict()?.missing).toContain('no ready router pod');
    routers(queued(0), queued(0));
    rig.pages.byHost.delete('127.0.7.2');
    await rig.round();
    expect(verdict()?.missing).toContain('router-1');
    rig.cluster.remove('ModelRoute', 'default', 'm');
    await rig.round();
    expect(verdict()?.missing).toContain('no ModelRoute leads to its pods');
    expect(rig.cluster.written).toEqual([]);
  });
});
