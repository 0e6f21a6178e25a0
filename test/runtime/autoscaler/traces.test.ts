import { AutoscalerRig, runningPage } from '../../helpers/autoscaler-rig';

const PERIOD_S = 15;

let rig: AutoscalerRig;

beforeEach(async () => {
  rig = await AutoscalerRig.open();
});

afterEach(() => rig.close());

/** Passes one round under `load` running requests in total, spread evenly over the pods there are. */
async function roundUnder(load: number): Promise<number> {
  const replicas = rig.cluster.replicas('Deployment', 'chat')!;
  rig.pods('chat', replicas, runningPage(load / Math.max(1, replicas)));
  await rig.round();
  return rig.cluster.replicas('Deployment', 'chat')!;
}

async function trace(load: number, rounds: number): Promise<readonly number[]> {
  const replicas: number[] = [];
  for (let i = 0; i < rounds; i++) replicas.push(await roundUnder(load));
  return replicas;
}

describe('load over time, with the defaults of the behavior', () => {
  it('rises: scales up by at most four replicas or the double per minute, and not above the maximum', async () => {
    rig.cluster.target('Deployment', 'chat', 1).put(
      rig.policy('p', 'chat', {
        homogeneousTarget: { ...(rig.policy('x', 'chat').spec.homogeneousTarget as object), maxReplicas: 20 },
      }),
    );
    expect(await trace(10, 2)).toEqual([1, 1]);
    // From one replica: 5 at once, then no more until that minute is over; from 5: the double; then what the load asks for.
    expect(await trace(140, 13)).toEqual([5, 5, 5, 5, 10, 10, 10, 10, 14, 14, 14, 14, 14]);
    expect(rig.cluster.condition('p', 'Limited')).toMatchObject({ status: 'False' });
  });

  it('falls: waits the stabilization window, then scales down', async () => {
    rig.cluster.target('Deployment', 'chat', 1).put(rig.policy('p', 'chat'));
    await trace(40, 2);
    expect(rig.cluster.replicas('Deployment', 'chat')).toBe(4);
    const windowRounds = (5 * 60) / PERIOD_S;
    const falling = await trace(10, windowRounds + 2);
    const firstDown = falling.findIndex((count) => count < 4);
    expect(firstDown).toBe(windowRounds - 1);
    expect(falling.at(-1)).toBe(1);
    expect(rig.cluster.notes.at(-1)).toMatchObject({
      reason: 'ScaledDown',
      message: 'Deployment default/chat from 4 to 1 replicas',
    });
  });

  it('falls and rises again within the window: never scales down in between', async () => {
    rig.cluster.target('Deployment', 'chat', 4).put(rig.policy('p', 'chat'));
    const seen = [...(await trace(40, 2)), ...(await trace(10, 15)), ...(await trace(40, 2)), ...(await trace(10, 15))];
    expect(new Set(seen)).toEqual(new Set([4]));
  });

  it('a restart takes the present replicas as its past and waits one window before it scales down', async () => {
    rig.cluster.target('Deployment', 'chat', 4).put(rig.policy('p', 'chat'));
    await trace(40, 2);
    await trace(10, 10);
    await rig.restart();
    const after = await trace(10, 22);
    expect(after.findIndex((count) => count < 4)).toBe(20);
  });

  it('an edit of the policy keeps the window', async () => {
    rig.cluster.target('Deployment', 'chat', 4).put(rig.policy('p', 'chat'));
    await trace(40, 1);
    await trace(10, 18);
    rig.cluster.put(rig.policy('p', 'chat', { tolerancePercent: 5 }, { generation: 2 }));
    expect(await trace(10, 2)).toEqual([4, 1]);
  });
});

describe('a surge, with a panic policy', () => {
  const behavior = {
    scaleUp: {
      stablePolicy: { instances: 1, percent: 0, period: '60s', stabilizationWindow: '0s' },
      panicPolicy: { percent: 300, period: '15s', panicThresholdPercent: 200, panicModeHold: '60s' },
    },
    scaleDown: { instances: 10, percent: 100, period: '15s', stabilizationWindow: '0s' },
  };

  it('grows by the panic limit, keeps every replica while panic lasts, and then falls', async () => {
    rig.cluster.target('Deployment', 'chat', 2).put(rig.policy('p', 'chat', { behavior }));
    expect(await trace(20, 1)).toEqual([2]);
    expect(await trace(70, 1)).toEqual([7]);
    expect(rig.cluster.statusOf('p')).toMatchObject({ homogeneousStatus: { mode: 'Panic' } });
    expect(await trace(20, 5)).toEqual([7, 7, 7, 2, 2]);
    expect(rig.cluster.statusOf('p')).toMatchObject({ homogeneousStatus: { mode: 'Stable' } });
  });

  it('is none without a hold', async () => {
    const calm = {
      ...behavior,
      scaleUp: { ...behavior.scaleUp, panicPolicy: { ...behavior.scaleUp.panicPolicy, panicModeHold: '0s' } },
    };
    rig.cluster.target('Deployment', 'chat', 2).put(rig.policy('p', 'chat', { behavior: calm }));
    await trace(20, 1);
    expect(await trace(70, 1)).toEqual([3]);
  });
});

describe('algorithm: kthena', () => {
  it('is chosen by annotation, and keeps its tolerance quirk', async () => {
    rig.cluster
      .target('Deployment', 'chat', 5)
      .put(rig.policy('p', 'chat', {}, { annotations: { 'kvasir.dev/autoscaler-algorithm': 'kthena' } }));
    expect(await trace(52, 1)).toEqual([6]);
    expect(rig.decisions.at(-1)).toMatchObject({ algorithm: 'kthena' });
  });

  it('is chosen by the configuration, and one silent pod stops it', async () => {
    const other = await AutoscalerRig.open({ algorithm: 'kthena' });
    other.cluster.target('Deployment', 'chat', 3).put(other.policy('p', 'chat'));
    other.pods('chat', 3, runningPage(40));
    other.pages.byHost.delete('127.0.1.2');
    await other.round();
    expect(other.cluster.written).toEqual([]);
    other.pods('chat', 3, runningPage(20));
    await other.round();
    expect(other.cluster.written).toEqual([{ target: 'chat', replicas: 6 }]);
    await other.close();
  });

  it('refuses another word, and says which are known', async () => {
    rig.cluster
      .target('Deployment', 'chat', 5)
      .put(rig.policy('p', 'chat', {}, { annotations: { 'kvasir.dev/autoscaler-algorithm': 'magic' } }));
    await rig.round();
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({
      reason: 'TargetInvalid',
      message: "annotation kvasir.dev/autoscaler-algorithm is 'magic'; write default or kthena",
    });
  });
});
