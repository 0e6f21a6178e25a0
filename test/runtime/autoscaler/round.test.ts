import { AutoscalerRig, bindingOf, homogeneousSpec, policyOf, runningPage } from '../../helpers/autoscaler-rig';
import { readyPod } from '../../helpers/fake-autoscaler-cluster';

let rig: AutoscalerRig;

beforeEach(async () => {
  rig = await AutoscalerRig.open();
});

afterEach(() => rig.close());

function chat(replicas: number, running: number): void {
  rig.cluster.target('Deployment', 'chat', replicas);
  rig.pods('chat', replicas, runningPage(running));
}

describe('a round', () => {
  it('scales a target to its load and tells so in status and an Event', async () => {
    chat(2, 18);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 4 }]);
    expect(rig.cluster.statusOf('p')).toMatchObject({
      observedGeneration: 1,
      homogeneousStatus: { currentReplicas: 2, desiredReplicas: 4, mode: 'Stable', lastScaleTime: '2026-11-30T12:00:00Z' },
    });
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({ status: 'True', reason: 'Reconciled' });
    expect(rig.cluster.notes).toContainEqual({
      regarding: 'p',
      type: 'Normal',
      reason: 'ScaledUp',
      message: 'Deployment default/chat from 2 to 4 replicas',
    });
  });

  it('changes nothing within the tolerance', async () => {
    chat(3, 10.9);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
  });

  it('writes no status when nothing changed', async () => {
    chat(2, 10);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    await rig.round();
    await rig.round();
    expect(rig.cluster.statuses).toHaveLength(1);
  });

  it('asks each pod once, however many policies and metrics read it', async () => {
    chat(2, 10);
    rig.cluster.put(rig.policy('p', 'chat'), rig.policy('q', 'chat'));
    await rig.round();
    expect(rig.pages.asked.sort()).toEqual(['127.0.1.1/metrics', '127.0.1.2/metrics']);
  });

  it('takes one pod that does not answer as one missing sample', async () => {
    chat(3, 30);
    rig.pages.byHost.delete('127.0.1.2');
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 6 }]);
    expect(rig.cluster.condition('p', 'MetricMissing')).toMatchObject({ status: 'False' });
  });

  it('is not blocked by a pod that was restarted or that ends', async () => {
    chat(2, 20);
    rig.cluster.put(
      readyPod('chat-0', { app: 'chat' }, '127.0.1.1', {
        status: {
          phase: 'Running',
          podIP: '127.0.1.1',
          conditions: [{ type: 'Ready', status: 'True' }],
          containerStatuses: [{ name: 'engine', ready: true, restartCount: 3 }],
        },
      }),
      readyPod('old', { app: 'chat' }, '127.0.1.9', {
        metadata: {
          name: 'old',
          namespace: 'default',
          uid: 'old',
          labels: { app: 'chat' },
          deletionTimestamp: '2026-11-30T11:59:00Z',
        },
      }),
      rig.policy('p', 'chat'),
    );
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 4 }]);
  });

  it('changes nothing and says which metric is missing when no pod exposes it', async () => {
    chat(3, 0);
    rig.pods('chat', 3, '# TYPE other gauge\nother 1\n');
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    expect(rig.cluster.condition('p', 'MetricMissing')).toMatchObject({
      status: 'True',
      message: 'running: no pod exposes the family vllm:num_requests_running',
    });
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({ status: 'False', reason: 'MetricMissing' });
  });

  it('brings replicas within the bounds without any metric', async () => {
    rig.cluster.target('Deployment', 'chat', 20).put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 8 }]);
  });

  it('reports a target that is not there, and that it came', async () => {
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.condition('p', 'TargetFound')).toMatchObject({ status: 'False', reason: 'TargetInvalid' });
    chat(1, 10);
    await rig.round();
    expect(rig.cluster.condition('p', 'TargetFound')).toMatchObject({ status: 'True' });
    expect(rig.cluster.notes.map(({ reason }) => reason)).toEqual(['TargetMissing', 'Reconciled']);
  });

  it('reads a target again after a conflict, in the next round', async () => {
    chat(1, 30);
    rig.cluster.put(rig.policy('p', 'chat'));
    rig.cluster.scaleAnswers.push({ kind: 'conflict' });
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    expect(rig.decisions.at(-1)?.hold).toMatch(/read again in the next round/);
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({ status: 'True' });
    expect(rig.cluster.notes.map(({ reason }) => reason)).toEqual(['ScaledUp']);
  });

  it.each([
    [{ kind: 'forbidden', message: 'no rule allows it' } as const, 'ScaleForbidden'],
    [{ kind: 'invalid', message: 'negative' } as const, 'ScaleInvalid'],
    [{ kind: 'throttled', afterMs: 1000 } as const, 'ScaleThrottled'],
    [{ kind: 'unavailable', message: 'connection refused' } as const, 'ScaleUnavailable'],
    [{ kind: 'gone' } as const, 'TargetMissing'],
  ])('says why a write failed: %j', async (answer, reason) => {
    chat(1, 30);
    rig.cluster.put(rig.policy('p', 'chat'));
    rig.cluster.scaleAnswers.push(answer);
    await rig.round();
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({ status: 'False', reason });
    expect(rig.cluster.written).toEqual([]);
  });
});

describe('who may write', () => {
  it('lets the older of two policies act and tells the other', async () => {
    chat(1, 30);
    rig.cluster.put(
      rig.policy('a-young', 'chat', {}, { creationTimestamp: '2026-11-02T00:00:00Z' }),
      rig.policy(
        'b-old',
        'chat',
        { metrics: [{ name: 'running', targetValue: 5 }] },
        { creationTimestamp: '2026-11-01T00:00:00Z' },
      ),
    );
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 5 }]);
    expect(rig.cluster.condition('a-young', 'TargetConflict')).toMatchObject({
      status: 'True',
      message: 'AutoscalingPolicy default/b-old is older and scales Deployment default/chat; delete one of the two',
    });
    expect(rig.cluster.condition('b-old', 'TargetConflict')).toMatchObject({ status: 'False' });
  });

  it('keeps its hands off a target that a HorizontalPodAutoscaler scales', async () => {
    chat(1, 30);
    const hpa = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'hpa', namespace: 'default' },
      spec: { scaleTargetRef: { kind: 'Deployment', name: 'chat' } },
    };
    rig.cluster.put(rig.policy('p', 'chat'), hpa);
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    expect(rig.cluster.condition('p', 'ForeignController')).toMatchObject({ status: 'True' });
    rig.cluster.remove('HorizontalPodAutoscaler', 'default', 'hpa');
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
  });

  it("keeps its hands off while Kthena's autoscaler runs, except where a policy chooses this one", async () => {
    chat(1, 30);
    const containers = [{ name: 'manager', image: 'ghcr.io/volcano-sh/kthena-controller-manager:latest' }];
    const manager = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'kthena-controller-manager', namespace: 'kthena-system' },
      spec: { template: { spec: { containers } } },
    };
    rig.cluster.put(rig.policy('p', 'chat'), manager);
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    const { status, message } = rig.cluster.condition('p', 'ForeignController')!;
    expect(status).toBe('True');
    expect(message).toContain("Deployment kthena-system/kthena-controller-manager runs Kthena's autoscaler");
    rig.cluster.put(rig.policy('p', 'chat', {}, { annotations: { 'kvasir.dev/autoscaler-class': 'kvasir' } }));
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
    expect(rig.cluster.condition('p', 'ForeignController')).toMatchObject({ status: 'False' });
  });

  it('leaves a policy of another class alone', async () => {
    chat(1, 30);
    const other = rig.policy('other', 'chat', {}, { annotations: { 'kvasir.dev/autoscaler-class': 'kthena' } });
    rig.cluster.put(other, rig.policy('p', 'idle'));
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    expect(rig.cluster.statusOf('other')).toBeUndefined();
  });

  it.each([
    ['kvasir.dev/pause', 'Paused'],
    ['kvasir.dev/recommend-only', 'RecommendOnly'],
  ])('%s: computes and reports, and writes no scale', async (annotation, reason) => {
    chat(1, 30);
    rig.cluster.put(rig.policy('p', 'chat', {}, { annotations: { [annotation]: 'true' } }));
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({ status: 'False', reason });
    expect(rig.cluster.statusOf('p')).toMatchObject({ homogeneousStatus: { currentReplicas: 1, desiredReplicas: 3 } });
  });

  it('leaves policies of another class alone', async () => {
    chat(1, 30);
    rig.cluster.put(rig.policy('p', 'chat', {}, { labels: { 'kvasir.dev/class': 'kthena' } }));
    await rig.round();
    expect(rig.cluster.statuses).toEqual([]);
    expect(rig.cluster.written).toEqual([]);
  });

  it('does nothing without leadership, and acts when it comes', async () => {
    chat(1, 30);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    rig.cluster.written.length = 0;
    rig.cluster.target('Deployment', 'chat', 1);
    rig.cluster.isLeader = false;
    rig.clock.advance(60_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(rig.cluster.written).toEqual([]);
    rig.cluster.isLeader = true;
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
  });

  it.each([
    [false, 'TargetInvalid'],
    [true, 'TargetMissing'],
  ])(
    'looks for a target in another namespace only when the configuration allows it: %s',
    async (allowCrossNamespaceTargets, reason) => {
      const other = await AutoscalerRig.open({ allowCrossNamespaceTargets });
      const target = { targetRef: { kind: 'Deployment', name: 'chat', namespace: 'other' } };
      const metrics = [{ name: 'running', targetValue: 10 }];
      other.cluster.put(policyOf('p', { spec: { metrics, homogeneousTarget: { target, minReplicas: 1, maxReplicas: 2 } } }));
      await other.round();
      expect(other.cluster.condition('p', 'Ready')).toMatchObject({ status: 'False', reason });
      await other.close();
    },
  );
});

describe('a binding', () => {
  it('applies the metrics and behavior of its policy to its own target', async () => {
    chat(1, 30);
    const { homogeneousTarget, ...rules } = homogeneousSpec('chat', rig.pages.port) as {
      homogeneousTarget: object;
      metrics: object;
    };
    rig.cluster.put(policyOf('rules', { spec: rules }), bindingOf('b', { policyRef: { name: 'rules' }, homogeneousTarget }));
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
    expect(rig.cluster.statusOf('b')).toMatchObject({ homogeneousStatus: { currentReplicas: 1, desiredReplicas: 3 } });
    expect(rig.cluster.statusOf('rules')).toBeUndefined();
  });

  it('says that its policy is missing', async () => {
    const { homogeneousTarget } = homogeneousSpec('chat', rig.pages.port) as { homogeneousTarget: object };
    rig.cluster.put(bindingOf('b', { policyRef: { name: 'nobody' }, homogeneousTarget }));
    await rig.round();
    expect(rig.cluster.condition('b', 'Ready')).toMatchObject({ status: 'False', reason: 'PolicyMissing' });
  });
});

describe('a view that is older than two rounds', () => {
  it('scales up, and never down', async () => {
    const atOnce = { behavior: { scaleDown: { stabilizationWindow: '0s' } } };
    chat(4, 0);
    rig.cluster.put(rig.policy('p', 'chat', atOnce));
    rig.cluster.ageMs = 31_000;
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    expect(rig.cluster.condition('p', 'Limited')).toMatchObject({ status: 'True', reason: 'StaleView' });
    rig.pods('chat', 4, runningPage(20));
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 8 }]);
  });
});
