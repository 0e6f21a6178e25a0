import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { type RunningAutoscaler, startAutoscaler } from '../../runtime/autoscaler/autoscaler';
import type { ExplainedRound } from '../../runtime/autoscaler/report/explain-ring';
import { silentLogger } from '../../runtime/lib/logger';
import { VirtualClock } from '../../runtime/lib/virtual-clock';
import type { AutoscalingPolicy } from '../../src/api/autoscaling-policy';
import type { AutoscalingPolicyBinding } from '../../src/api/autoscaling-policy-binding';
import { decodeKind } from '../../src/api/decode-object';
import type { Pod } from '../../src/api/pod';
import { type AutoscalerConfig, defaultAutoscalerConfig } from '../../src/config/autoscaler-config';
import { FakeAutoscalerCluster, readyPod } from './fake-autoscaler-cluster';

/** Metrics pages over real sockets: every loopback address is a pod of its own. */
export class MetricsPages {
  /** Pod address → page; an absent one answers 500. */
  readonly byHost = new Map<string, string>();
  readonly asked: string[] = [];
  /** Pod addresses that take requests and never answer. */
  readonly hanging = new Set<string>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async open(): Promise<MetricsPages> {
    const server = createServer((request, response) => {
      const host = request.socket.localAddress ?? '';
      pages.asked.push(`${host}${request.url}`);
      if (pages.hanging.has(host)) return;
      const page = pages.byHost.get(host);
      response.writeHead(page === undefined ? 500 : 200, { 'content-type': 'text/plain; version=0.0.4' }).end(page);
    });
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
    const pages = new MetricsPages(server, (server.address() as AddressInfo).port);
    return pages;
  }

  async whenAsked(host: string): Promise<void> {
    for (let i = 0; i < 5000 && !this.asked.some((url) => url.startsWith(`${host}/`)); i++) await setImmediate();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** An autoscaler over a cluster in memory and real metrics pages, whose time passes only when told to. */
export class AutoscalerRig {
  readonly cluster = new FakeAutoscalerCluster();
  readonly clock = new VirtualClock(Date.parse('2026-11-30T12:00:00Z'));
  readonly decisions: ExplainedRound[] = [];
  /** What the pods have besides a name and an address. */
  podTemplate: Partial<Pod> = {};
  /** Lets time pass until the next round. */
  pass: (ms: number) => void | Promise<void> = (ms) => this.clock.advance(ms);
  private running: RunningAutoscaler | undefined;

  private constructor(
    readonly pages: MetricsPages,
    private readonly config: AutoscalerConfig,
  ) {}

  static async open(config: Partial<AutoscalerConfig> = {}): Promise<AutoscalerRig> {
    return new AutoscalerRig(await MetricsPages.open(), { ...defaultAutoscalerConfig(), ...config });
  }

  /** `count` ready pods of Deployment `name`, each with `page` on an address of its own; earlier pods of it go. */
  pods(name: string, count: number, page: string | ((index: number) => string)): void {
    for (let i = 0; i < 64; i++) {
      this.cluster.remove('Pod', 'default', `${name}-${i}`);
      this.pages.byHost.delete(`127.0.1.${i + 1}`);
    }
    for (let i = 0; i < count; i++) {
      const pod = readyPod(`${name}-${i}`, { app: name }, `127.0.1.${i + 1}`);
      const { metadata, ...template } = this.podTemplate;
      this.cluster.put({ ...pod, ...template, metadata: { ...pod.metadata, ...metadata, name: pod.metadata.name } });
      this.pages.byHost.set(`127.0.1.${i + 1}`, typeof page === 'string' ? page : page(i));
    }
  }

  /** A policy on Deployment `target` that wants `running` = 10 per replica, with `spec` over it. */
  policy(name: string, target: string, spec: object = {}, metadata: object = {}): AutoscalingPolicy {
    return policyOf(name, { metadata, spec: { ...homogeneousSpec(target, this.pages.port), ...spec } });
  }

  /** Starts the autoscaler on the first call and passes one period on each later one; ends when the round has ended. */
  async round(): Promise<void> {
    const before = this.decisions.length;
    const wanted =
      this.cluster.objects.list('AutoscalingPolicy').length + this.cluster.objects.list('AutoscalingPolicyBinding').length;
    if (this.running === undefined) {
      const { cluster, clock, config } = this;
      const onDecision = (round: ExplainedRound): void => {
        this.decisions.push(round);
      };
      this.running = await startAutoscaler({ cluster, clock, config, log: silentLogger(), onDecision });
      await this.running.whenFirstRound();
    } else {
      await this.pass(this.config.syncPeriodMs);
    }
    for (let i = 0; i < 2000 && this.decisions.length < before + wanted; i++) await setImmediate();
    for (let i = 0; i < 3; i++) await setImmediate();
  }

  /** Ends when so many policies were decided on in all, and what follows is done. */
  async settle(decisions: number): Promise<void> {
    for (const end = performance.now() + 5000; this.decisions.length < decisions && performance.now() < end; )
      await setImmediate();
    for (let i = 0; i < 20; i++) await setImmediate();
  }

  /** Forgets everything in memory, as a restart of the process does. */
  async restart(): Promise<void> {
    await this.running?.close();
    this.running = undefined;
  }

  async close(): Promise<void> {
    await this.running?.close();
    await this.pages.close();
  }
}

export function homogeneousSpec(target: string, port: number) {
  return {
    metrics: [{ name: 'running', targetValue: 10 }],
    homogeneousTarget: {
      target: {
        targetRef: { kind: 'Deployment', name: target },
        metricSources: { running: { pod: { name: 'vllm:num_requests_running', port } } },
      },
      minReplicas: 1,
      maxReplicas: 8,
    },
  };
}

/** A policy as the cluster's view holds it: decoded, defaults filled in. */
export function policyOf(name: string, { metadata = {}, spec }: { metadata?: object; spec: object }): AutoscalingPolicy {
  const input = {
    apiVersion: 'workload.serving.volcano.sh/v1alpha1',
    kind: 'AutoscalingPolicy',
    metadata: { name, namespace: 'default', ...metadata },
    spec,
  };
  const decoded = decodeKind('AutoscalingPolicy', input);
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  return decoded.value;
}

export function bindingOf(name: string, spec: object): AutoscalingPolicyBinding {
  const input = {
    apiVersion: 'workload.serving.volcano.sh/v1alpha1',
    kind: 'AutoscalingPolicyBinding',
    metadata: { name, namespace: 'default' },
    spec,
  };
  const decoded = decodeKind('AutoscalingPolicyBinding', input);
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  return decoded.value;
}

/** A page with one gauge of running requests. */
export function runningPage(running: number): string {
  return `# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0",model_name="m"} ${running}\n`;
}
