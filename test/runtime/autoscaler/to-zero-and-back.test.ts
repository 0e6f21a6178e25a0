import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RunningAutoscaler, startAutoscaler } from '../../../runtime/autoscaler/autoscaler';
import type { AutoscalerCluster } from '../../../runtime/cluster/cluster';
import type { RunningPod } from '../../../runtime/cluster/pod-runner';
import { silentLogger } from '../../../runtime/lib/logger';
import { seededRandom } from '../../../runtime/lib/random';
import { VirtualClock } from '../../../runtime/lib/virtual-clock';
import type { KubeObject } from '../../../src/api/meta';
import { isPodReady, type Pod } from '../../../src/api/pod';
import { defaultAutoscalerConfig } from '../../../src/config/autoscaler-config';
import type { EnginePlan } from '../../../src/expand/engine-plan';
import { Annotations, WORKLOAD_API_VERSION } from '../../../src/labels';
import { InstantPods, type InstantPodsOptions } from '../../helpers/instant-pods';
import { EPOCH_MS } from '../../helpers/manifest-folder';
import { type ManifestRouter, startManifestRouter } from '../../helpers/manifest-router';
import { type Answer, modelRoute } from '../../helpers/router-harness';
import { deploymentOf, serverFor } from '../../helpers/workload-objects';

const START_MS = 10_000;
const SYNC_MS = 5_000;

/** A request, and what came of it so far. */
interface Asked {
  readonly sinceMs: number;
  untilMs?: number;
  answer?: Answer;
  error?: Error;
}

/** Engines that are ready `START_MS` after their start. */
class SlowPods extends InstantPods {
  /** Pods that are not ready yet. */
  starting = 0;

  constructor(
    private readonly clock: VirtualClock,
    options: InstantPodsOptions = {},
  ) {
    super(options);
  }

  override async start(pod: Pod, plan: EnginePlan | undefined): Promise<RunningPod> {
    // From now on: how long the real socket takes to listen does not count.
    this.starting += 1;
    const ready = new Promise<void>((resolve) => {
      this.clock.after(START_MS, () => {
        this.starting -= 1;
        resolve();
      });
    });
    const running = await super.start(pod, plan);
    return { ...running, ready };
  }
}

function policy(stabilizationWindow: string, more: object = {}): KubeObject {
  return {
    apiVersion: WORKLOAD_API_VERSION,
    kind: 'AutoscalingPolicy',
    metadata: { name: 'chat', namespace: 'default' },
    spec: {
      metrics: [{ name: 'running', targetValue: 8 }],
      behavior: { scaleDown: { stabilizationWindow, period: '0s' } },
      homogeneousTarget: {
        target: {
          targetRef: { kind: 'Deployment', name: 'chat' },
          metricSources: { running: { pod: { name: 'vllm:num_requests_running', port: 8000 } } },
        },
        minReplicas: 0,
        maxReplicas: 4,
      },
      ...more,
    },
  } as KubeObject;
}

function chat(replicas: number): KubeObject {
  const args = ['--model', 'Qwen/Qwen3-0.6B', '--port', '8000'];
  const containers = [{ name: 'engine', image: 'vllm/vllm-openai:v0.20.2', args }];
  return deploymentOf('chat', { replicas, template: { metadata: { labels: { app: 'chat' } }, spec: { containers } } });
}

describe('a model that may rest at zero replicas', () => {
  let clock: VirtualClock;
  let at: ManifestRouter;
  let autoscaler: RunningAutoscaler;
  let pods: SlowPods;
  let rounds: number;

  afterEach(async () => {
    await autoscaler.close();
    await at.close();
  });

  async function start(
    objects: readonly KubeObject[],
    {
      wrap = (cluster) => cluster,
      options = {},
    }: { wrap?: (cluster: AutoscalerCluster) => AutoscalerCluster; options?: InstantPodsOptions } = {},
  ): Promise<void> {
    clock = new VirtualClock(EPOCH_MS);
    rounds = 0;
    // Silence is virtual time too: nobody is told to come back before the pods are there.
    const config = 'queue: {wake: {silentMs: 600000}}';
    pods = new SlowPods(clock, options);
    at = await startManifestRouter({ objects, clock, config, pods });
    autoscaler = await startAutoscaler({
      cluster: wrap(at.cluster),
      clock,
      config: { ...defaultAutoscalerConfig(), syncPeriodMs: SYNC_MS },
      log: silentLogger(),
      router: at.router.metricsAddress,
      onDecision: () => {
        rounds += 1;
      },
    });
    await autoscaler.whenFirstRound();
  }

  const replicas = (): number | undefined =>
    (at.cluster.objects.get('Deployment', 'default', 'chat') as { spec?: { replicas?: number } } | undefined)?.spec?.replicas;
  const condition = (type: string) =>
    at.cluster.objects.get('AutoscalingPolicy', 'default', 'chat')?.status?.conditions?.find((one) => one.type === type);
  const isReady = (): boolean => at.cluster.objects.list('Pod').some(isPodReady);
  const reasons = (): string[] => at.cluster.notedEvents().map(({ reason }) => reason);

  async function turns(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await nextTurn();
  }

  /** Lets time pass, a step at a time, with room for sockets in between, until something holds. @returns the milliseconds that passed. */
  async function pass(stepMs: number, isOver: () => boolean, mostMs = 600_000): Promise<number> {
    const from = clock.monotonic();
    while (!isOver()) {
      if (clock.monotonic() - from > mostMs)
        throw new Error(`not over after ${mostMs} ms: ${replicas()} replicas, ${reasons().join(' ')}`);
      clock.advance(stepMs);
      for (let i = 0; i < 40 && !isOver(); i++) await nextTurn();
    }
    return clock.monotonic() - from;
  }

  /** Lets whole rounds of the autoscaler pass. */
  async function passRounds(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const before = rounds;
      clock.advance(SYNC_MS);
      for (let turn = 0; turn < 5_000 && rounds === before; turn++) await nextTurn();
      await turns(5);
    }
  }

  function ask(): Asked {
    const asked: Asked = { sinceMs: clock.monotonic() };
    at.chat('m').then(
      (answer) => Object.assign(asked, { answer, untilMs: clock.monotonic() }),
      (error: Error) => Object.assign(asked, { error, untilMs: clock.monotonic() }),
    );
    return asked;
  }

  /** Lets a request be answered, with no more time than it takes its pod to start. */
  async function answered(asked: Asked): Promise<Asked> {
    const isAnswered = (): boolean => asked.untilMs !== undefined;
    const starts = (): boolean => pods.starting > 0;
    for (let i = 0; i < 5_000 && !isAnswered() && !starts(); i++) await nextTurn();
    if (!isAnswered()) clock.advance(START_MS);
    for (let i = 0; i < 5_000 && !isAnswered(); i++) await nextTurn();
    await pass(100, isAnswered);
    return asked;
  }

  const served = [serverFor('chat', { model: 'Qwen/Qwen3-0.6B' }), modelRoute('route', 'chat')];

  it('is woken by a request, which is held and answered as soon as the pod is ready', async () => {
    await start([chat(0), policy('60s'), ...served]);
    expect(condition('Ready')).toMatchObject({ status: 'True', reason: 'Asleep' });
    expect(condition('MetricMissing')).toMatchObject({ status: 'False' });
    const asked = ask();
    for (let i = 0; i < 500 && replicas() === 0; i++) await nextTurn();
    // No time has passed: it did not wait for a round.
    expect([replicas(), clock.monotonic() - asked.sinceMs]).toEqual([1, 0]);
    await turns(5);
    expect(condition('Ready')).toMatchObject({ status: 'True', reason: 'Waking' });
    await pass(250, () => asked.untilMs !== undefined);
    expect(asked.answer?.status).toBe(200);
    expect(asked.untilMs! - asked.sinceMs).toBeLessThanOrEqual(START_MS + 1_000);
    expect(reasons()).toEqual(expect.arrayContaining(['ScaledFromZero', 'Waking']));
  });

  it('stays up for the stabilization window after that, and then goes to zero and says so', async () => {
    await start([chat(0), policy('60s'), ...served]);
    const asked = ask();
    await pass(250, () => asked.untilMs !== undefined);
    const idleMs = await pass(1_000, () => replicas() === 0);
    expect(idleMs).toBeGreaterThanOrEqual(60_000);
    expect(idleMs).toBeLessThanOrEqual(60_000 + 15_000 + 2 * SYNC_MS);
    await passRounds(1);
    expect(condition('Ready')).toMatchObject({ status: 'True', reason: 'Asleep' });
    expect(reasons()).toContain('ScaledToZero');
  });

  it('is woken within a second when the first writes fail', async () => {
    let failures = 2;
    await start([chat(0), policy('60s'), ...served], {
      wrap: (cluster) => ({
        ...cluster,
        scaling: {
          read: (target) => cluster.scaling.read(target),
          setRoles: (target, counts, version) => cluster.scaling.setRoles(target, counts, version),
          set: async (target, count, version) =>
            failures-- > 0 ? { kind: 'throttled', afterMs: 100 } : cluster.scaling.set(target, count, version),
        },
      }),
    });
    const asked = ask();
    for (let i = 0; i < 500 && failures === 2; i++) await nextTurn();
    expect(replicas()).toBe(0);
    expect(await pass(50, () => replicas() === 1)).toBeLessThanOrEqual(1_000);
    expect((await answered(asked)).answer?.status).toBe(200);
  });

  it('is left asleep while its policy is paused, and is woken when it goes on', async () => {
    const paused = policy('60s');
    await start([
      chat(0),
      { ...paused, metadata: { ...paused.metadata, annotations: { [Annotations.pause]: 'true' } } },
      ...served,
    ]);
    const asked = ask();
    await pass(1_000, () => clock.monotonic() - asked.sinceMs >= 3 * SYNC_MS);
    expect([replicas(), condition('Ready')?.reason]).toEqual([0, 'Paused']);
    await at.folder.put(paused);
    await pass(1_000, () => replicas() === 1, 2 * SYNC_MS);
    expect((await answered(asked)).answer?.status).toBe(200);
  });

  it('is put back into routing when its policy lets it rest no more before it has gone', async () => {
    await start([chat(0), policy('0s'), ...served]);
    await answered(ask());
    const isDrained = (): boolean =>
      at.cluster.objects.list('Pod').some(({ metadata }) => metadata.annotations?.[Annotations.drain] === 'true');
    await pass(1_000, isDrained, 60_000);
    expect(replicas()).toBe(1);
    const homogeneousTarget = (policy('0s') as unknown as { spec: { homogeneousTarget: object } }).spec.homogeneousTarget;
    await at.folder.put(policy('0s', { homogeneousTarget: { ...homogeneousTarget, minReplicas: 1 } }));
    await pass(1_000, () => !isDrained(), 4 * SYNC_MS);
    expect(replicas()).toBe(1);
  });

  it('keeps its last replica, and says why, where its pods cannot be taken out of routing', async () => {
    await start([chat(0), policy('0s'), ...served], {
      wrap: (cluster) => ({ ...cluster, pods: { mark: async () => ({ kind: 'forbidden', message: 'no rule allows it' }) } }),
    });
    await answered(ask());
    await pass(1_000, () => condition('Ready')?.reason === 'DrainFailed', 60_000);
    expect(replicas()).toBe(1);
  });

  it('keeps its last replica where no ModelServer would hold requests for it', async () => {
    await start([chat(0), policy('0s')]);
    await at.folder.put(chat(1));
    await passRounds(10);
    expect(replicas()).toBe(1);
    expect(condition('Limited')).toMatchObject({ reason: 'NoWakeSignal' });
  });

  it('keeps its last replica while an engine has a request that no metric of the policy shows', async () => {
    const source = { name: 'vllm:num_preemptions_total', port: 8000 };
    const slow = policy('0s', {
      metrics: [{ name: 'preemptions', targetValue: 1000 }],
      homogeneousTarget: {
        target: {
          targetRef: { kind: 'Deployment', name: 'chat' },
          metricSources: { preemptions: { pod: source } },
        },
        minReplicas: 0,
        maxReplicas: 4,
      },
    });
    // An engine that takes 20 ms of real time for each token: the request outlasts the rounds that follow.
    const stepTime = { baseMs: 20, perPrefillTokenMs: 0, perSequenceMs: 0, perKvTokenMs: 0 };
    await start([chat(0), slow, ...served], { options: { stepTime: () => stepTime } });
    const answer = at.chat('m', { max_tokens: 40, ignore_eos: true });
    await pass(250, () => isReady());
    await passRounds(6);
    expect(replicas()).toBe(1);
    expect(condition('Limited')).toMatchObject({ reason: 'Busy' });
    expect((await answer).status).toBe(200);
    await passRounds(3);
    expect(replicas()).toBe(0);
  });

  it('loses no request in 200 races between the last look and the scaling to zero', async () => {
    const random = seededRandom(7);
    type Point = 'before the look' | 'between look and write' | 'after the write' | 'some turns later' | 'asleep';
    const points: readonly Point[] = [
      'before the look',
      'between look and write',
      'after the write',
      'some turns later',
      'asleep',
    ];
    let point: Point | undefined;
    const asked: Asked[] = [];
    const fired = new Map<Point, number>();
    const fire = async (now: Point): Promise<void> => {
      if (point !== now) return;
      point = undefined;
      fired.set(now, (fired.get(now) ?? 0) + 1);
      asked.push(ask());
      await turns(Math.floor(random.next() * 12));
    };
    const wrap = (cluster: AutoscalerCluster): AutoscalerCluster => ({
      ...cluster,
      wakeRequests: {
        list: () => cluster.wakeRequests.list(),
        changed: (listener) => cluster.wakeRequests.changed(listener),
        read: async (namespace, uid) => {
          await fire('before the look');
          const outcome = await cluster.wakeRequests.read(namespace, uid);
          await fire('between look and write');
          return outcome;
        },
      },
      scaling: {
        read: (target) => cluster.scaling.read(target),
        setRoles: (target, counts, version) => cluster.scaling.setRoles(target, counts, version),
        set: async (target, count, version) => {
          const outcome = await cluster.scaling.set(target, count, version);
          if (count === 0 && outcome.kind === 'applied') {
            await fire('after the write');
            if (point === 'some turns later') void turns(Math.floor(random.next() * 30)).then(() => fire('some turns later'));
          }
          return outcome;
        },
      },
    });
    await start([chat(0), policy('0s'), ...served], { wrap });
    const waits: number[] = [];
    for (let i = 0; i < 200; i++) {
      // The race is about a model that is up.
      if (replicas() === 0) expect((await answered(ask())).answer?.status).toBe(200);
      point = points[i % points.length];
      for (let round = 0; round < 20 && asked.length === i && !(point === 'asleep' && replicas() === 0); round++) {
        await passRounds(1);
      }
      await fire('asleep');
      for (let turn = 0; turn < 100 && asked.length === i; turn++) await nextTurn();
      const { answer, sinceMs, untilMs } = await answered(asked[i]!);
      expect([i, answer?.status]).toEqual([i, 200]);
      waits.push(untilMs! - sinceMs);
    }
    expect(Object.fromEntries(fired)).toEqual(Object.fromEntries(points.map((each) => [each, 40])));
    expect(Math.max(...waits)).toBeLessThanOrEqual(START_MS + 1_000);
  }, 60_000);
});
