import { setImmediate } from 'node:timers/promises';
import { seededRandom } from '../../runtime/lib/random';
import { createScheduling, type Scheduling } from '../../runtime/router/scheduling/scheduling';
import { modelShapeNamed } from '../../src/catalog/models';
import { stepTimeOf } from '../../src/catalog/step-time';
import { Annotations } from '../../src/labels';
import { AutoscalerRig } from './autoscaler-rig';
import { readyPod } from './fake-autoscaler-cluster';
import { PoissonArrivals, type PoissonTraffic } from './poisson-arrivals';
import { FakeRouterCluster, modelServerOf } from './router-cluster';
import { VirtualEngine } from './virtual-engine';

const HOUR_MS = 3_600_000;
const PERIOD_MS = 15_000;
const SLICE_MS = 1000;
const FIRST_REPLICAS = 3;
/** From being asked for to being ready. */
const START_MS = 60_000;
const MODEL = 'Qwen/Qwen3-8B';
const STEP_TIME = stepTimeOf(modelShapeNamed(MODEL)!);

/** What a policy of a closed loop says besides its target: one metric, or an SLO. */
export interface LoopMetric {
  /** Family of the pods and its value per replica. */
  readonly family?: string;
  readonly targetValue?: number | string;
  readonly slo?: object;
}

/** A load of about 2.7 replicas by each kind of metric. */
export const LOOP_METRICS = {
  gauge: {
    metric: { family: 'vllm:num_requests_running', targetValue: 10 },
    traffic: { rate: () => 2.4, promptTokens: 800, outputTokens: 800 },
  },
  rate: {
    metric: { family: 'vllm:request_success_total', targetValue: '900m' },
    traffic: { rate: () => 2.4, promptTokens: 800, outputTokens: 800 },
  },
  latency: {
    metric: { family: 'vllm:time_to_first_token_seconds', targetValue: '300m' },
    traffic: { rate: () => 2.4, promptTokens: 800, outputTokens: 800 },
  },
  slo: {
    metric: { slo: { itlMs: 30 } },
    traffic: { rate: () => 6, promptTokens: 800, outputTokens: 800 },
  },
} as const satisfies Readonly<Record<string, Pick<LoopOptions, 'metric' | 'traffic'>>>;

export type LoopKind = keyof typeof LOOP_METRICS;

export interface LoopOptions {
  readonly metric: LoopMetric;
  readonly traffic: PoissonTraffic;
  readonly seed: number;
}

/** A change of the replica count. */
export interface Scaling {
  readonly atMs: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Poisson arrivals, the router's scheduling, simulated engines and the autoscaler in one virtual time: what is scaled changes what is
 * measured. Only metrics pages go over real sockets.
 */
export class ClosedLoop {
  readonly scalings: Scaling[] = [];
  failures = 0;
  private readonly hosts = new Map<string, string>();
  private made = 0;
  private arrivals: PoissonArrivals | undefined;

  private constructor(
    private readonly rig: AutoscalerRig,
    private readonly routed: FakeRouterCluster,
    private readonly router: Scheduling,
    private readonly engines: Map<string, VirtualEngine>,
  ) {}

  static async open(options: LoopOptions): Promise<ClosedLoop> {
    const rig = await AutoscalerRig.open();
    const { metric, seed } = options;
    const routed = new FakeRouterCluster().put(modelServerOf('chat'));
    const engines = new Map<string, VirtualEngine>();
    const router = await createScheduling({
      cluster: routed,
      clock: rig.clock,
      random: seededRandom(seed),
      config: {},
      fetchMetrics: async ({ pod }) => engines.get(pod.name)!.page(),
    });
    const loop = new ClosedLoop(rig, routed, router, engines);
    rig.pass = (ms) => loop.pass(ms);
    const { family, targetValue, slo } = metric;
    // With spec.slo alone in charge: a metric that never asks for more.
    const { name = 'vllm:num_requests_running', target = 1000 } = { name: family, target: targetValue };
    const metricSources = { load: { pod: { name, port: rig.pages.port } } };
    const policy = rig.policy('p', 'chat', {
      metrics: [{ name: 'load', targetValue: target }],
      ...(slo && { slo }),
      homogeneousTarget: {
        target: { targetRef: { kind: 'Deployment', name: 'chat' }, metricSources },
        minReplicas: 1,
        maxReplicas: 12,
      },
    });
    rig.cluster.templates.set('chat', [{ metadata: loop.metadata('chat'), spec: loop.podSpec() }]);
    rig.cluster.target('Deployment', 'chat', FIRST_REPLICAS).put(policy);
    for (let i = 0; i < FIRST_REPLICAS; i++) loop.start(true);
    await loop.router.whenReady();
    loop.arrivals = new PoissonArrivals(rig.clock, options.traffic, seed, (prompt, output) => loop.send(prompt, output));
    return loop;
  }

  /** Passes so much time. */
  async run(hours: number): Promise<void> {
    const { rig } = this;
    for (let round = 0; round < (hours * HOUR_MS) / PERIOD_MS; round++) {
      const before = rig.cluster.replicas('Deployment', 'chat')!;
      await rig.round();
      const after = rig.cluster.replicas('Deployment', 'chat')!;
      if (after === before) continue;
      this.scalings.push({ atMs: rig.clock.monotonic(), from: before, to: after });
      this.follow(after);
    }
  }

  /** Scalings within the hours from..to since the start. */
  within(fromHour: number, toHour: number): number {
    return this.scalings.filter(({ atMs }) => atMs > fromHour * HOUR_MS && atMs <= toHour * HOUR_MS).length;
  }

  get replicas(): number {
    return this.rig.cluster.replicas('Deployment', 'chat')!;
  }

  get decisions(): AutoscalerRig['decisions'] {
    return this.rig.decisions;
  }

  async close(): Promise<void> {
    this.arrivals?.end();
    await this.router.close();
    await this.rig.close();
  }

  /** In slices, since what the router scrapes arrives through promises. The autoscaler reads pages as they are at the end. */
  private async pass(ms: number): Promise<void> {
    const { clock } = this.rig;
    for (let passed = 0; passed < ms; passed += SLICE_MS) {
      if (passed + SLICE_MS >= ms) clock.after(SLICE_MS - 1, () => this.publish());
      clock.advance(SLICE_MS);
      await setImmediate();
    }
  }

  private publish(): void {
    for (const [name, host] of this.hosts) this.rig.pages.byHost.set(host, this.engines.get(name)!.page());
  }

  private follow(wanted: number): void {
    while (this.hosts.size < wanted) this.start(false);
    for (const name of [...this.hosts.keys()].slice(wanted)) {
      this.rig.pages.byHost.delete(this.hosts.get(name)!);
      this.hosts.delete(name);
      this.rig.cluster.remove('Pod', 'default', name);
      this.routed.remove(this.pod(name, '', true));
    }
  }

  private start(isReady: boolean): void {
    const { rig } = this;
    const name = `chat-${this.made++}`;
    const host = `127.0.2.${(this.made % 250) + 1}`;
    this.hosts.set(name, host);
    this.engines.set(name, new VirtualEngine(rig.clock, STEP_TIME, { strides: true }));
    const put = (ready: boolean): void => {
      const pod = this.pod(name, host, ready);
      rig.cluster.put(pod);
      if (ready) this.routed.put(pod);
    };
    put(isReady);
    this.publish();
    if (isReady) return;
    rig.clock.after(START_MS, () => {
      if (this.hosts.has(name)) put(true);
    });
  }

  private pod(name: string, host: string, ready: boolean) {
    const pod = readyPod(name, { app: 'chat' }, host, { spec: this.podSpec() });
    const metadata = { ...pod.metadata, ...this.metadata(name) };
    const conditions = [{ type: 'Ready', status: ready ? ('True' as const) : ('False' as const) }];
    return { ...pod, metadata, status: { ...pod.status, conditions } };
  }

  private metadata(name: string) {
    return { name, annotations: { [Annotations.accelerator]: 'H100-SXM-80GB', [Annotations.modelShape]: MODEL } };
  }

  private podSpec() {
    const args = ['--model', MODEL, '--port', String(this.rig.pages.port)];
    return {
      containers: [{ name: 'engine', image: 'vllm/vllm-openai:v0.32.0', args, resources: { limits: { 'nvidia.com/gpu': 1 } } }],
    };
  }

  private send(promptTokens: number, outputTokens: number): void {
    const request = {
      modelServer: 'default/chat',
      upstreamModel: MODEL,
      promptSpans: [],
      promptTokens,
      maxOutputTokens: outputTokens,
      streams: true,
    };
    const next = this.router.attempts.next(request, new Set());
    if (next.kind === 'none') {
      this.failures += 1;
      return;
    }
    const { attempt } = next;
    this.engines.get(attempt.endpoint.pod!.name)!.submit(promptTokens, outputTokens, {
      firstToken: () => attempt.firstToken(),
      ended: () => attempt.settle({ kind: 'completed' }),
    });
  }
}
