import { decodeKind } from '../../../../src/api/decode-object';
import { KvasirError } from '../../../../src/errors';
import { Annotations, WORKLOAD_API_VERSION } from '../../../../src/labels';
import { decide } from '../../../autoscaler/decide/decide';
import type { Memory } from '../../../autoscaler/decide/decision';
import { CapacityBook } from '../../../autoscaler/observe/capacity-book';
import { CAPACITY_FAMILIES } from '../../../autoscaler/observe/engine-window';
import { FleetPageReader } from '../../../autoscaler/observe/fleet-page-reader';
import { HttpReader, type Read } from '../../../autoscaler/observe/http-reader';
import { observe } from '../../../autoscaler/observe/observe';
import { PageArchive } from '../../../autoscaler/observe/page-archive';
import { PodPages } from '../../../autoscaler/observe/pod-pages';
import { PrometheusAccess } from '../../../autoscaler/observe/prometheus-access';
import { IDLE_FAMILIES } from '../../../autoscaler/observe/rest';
import { StartBook } from '../../../autoscaler/observe/start-book';
import { WakeWatch } from '../../../autoscaler/observe/wake-watch';
import type { Policy } from '../../../autoscaler/policy';
import { readPolicies } from '../../../autoscaler/read-policies';
import type { Scaling } from '../../../cluster/scaling';
import type { Clock } from '../../../lib/clock';
import { NAMESPACE, PORT, type ServicePool } from '../service-pool';
import { POD_AGE } from './load-pages';
import type { Strategy, StrategyView } from './strategy';

/** What a policy of the service says, beside its pools. */
export interface PolicyOptions {
  readonly algorithm: 'default' | 'kthena';
  /** @default the mix of least cost */
  readonly strategy?: 'blocks';
  /** `spec.slo`. */
  readonly slo?: { readonly ttftMs: number; readonly itlMs: number; readonly percentile: number };
  /** Running requests that a replica should have. @default no metric but `slo` */
  readonly running?: number;
  /** @default as the API server fills it in */
  readonly costExpansionRatePercent?: number;
}

/** `metricWindowMs` and `histogramPercentile` of the autoscaler's configuration, by default. */
const METRIC_WINDOW_MS = 60_000;
const PERCENTILE = 95;

/** Decides as the autoscaler does with an AutoscalingPolicy over all pools: its own files read the policy, the pods' pages, and decide. */
export class ByPolicy implements Strategy {
  private readonly policy: Policy;
  private readonly http: VirtualPages;
  private readonly archive = new PageArchive(METRIC_WINDOW_MS);
  private readonly reader = new FleetPageReader();
  private readonly capacities = new CapacityBook();
  private readonly starts = new StartBook();
  private readonly wakes: WakeWatch;
  private readonly prometheus = new PrometheusAccess([]);
  private memory: Memory = {};

  constructor(
    private readonly pools: readonly ServicePool[],
    options: PolicyOptions,
    private readonly clock: Clock,
  ) {
    this.policy = policyOf(pools, options);
    this.http = new VirtualPages(clock);
    this.reader.want(FAMILIES);
    this.wakes = new WakeWatch(clock, { list: () => [], read: async () => ({ kind: 'gone' }), changed: () => () => undefined });
  }

  async round({ fleet, pages: loadPages, nowMs }: StrategyView): Promise<readonly number[]> {
    const { policy, http, archive, clock, reader } = this;
    http.pages = new Map(fleet.pods.map((pod) => [pod.object.status!.podIP!, loadPages.of(pod, POD_AGE)]));
    const pages = new PodPages({ clock, http, archive, reader });
    const replicas = fleet.replicas();
    const observed = await observe(policy, {
      atMs: nowMs,
      nowMs: clock.now(),
      isViewStale: false,
      objects: fleet.objects(),
      scaling: this.scaling(replicas),
      workloadPods: { podsOf: ({ name }) => this.pools.filter((pool) => pool.name === name).map(({ template }) => template) },
      wakes: this.wakes,
      http,
      prometheus: this.prometheus,
      pages,
      routers: { app: '', port: 0 },
      capacities: this.capacities,
      starts: this.starts,
      percentile: PERCENTILE,
    });
    pages.finish();
    if (observed.kind === 'unseen') throw new Error(observed.problem.message);
    const { decision, memory } = decide(policy.spec, observed.observation, this.memory);
    this.memory = memory;
    return decision.units.map(({ desired }) => desired);
  }

  private scaling(replicas: readonly number[]): Scaling {
    const refused = async () => ({ kind: 'forbidden', message: 'a simulated round only decides' }) as const;
    return {
      read: async ({ name }) => {
        const pool = this.pools.findIndex((each) => each.name === name);
        const desired = replicas[pool]!;
        return { kind: 'found', value: { uid: name, version: '1', desired, actual: desired, selector: { pool: name } } };
      },
      set: refused,
      setRoles: refused,
    };
  }
}

/** The one metric that policies name besides `slo`. */
const METRIC = 'running';
const RUNNING = 'vllm:num_requests_running';
const FAMILIES: ReadonlySet<string> = new Set([RUNNING, ...IDLE_FAMILIES, ...CAPACITY_FAMILIES]);

/** Answers with pages that were scraped in virtual time. */
class VirtualPages extends HttpReader {
  /** By address. */
  pages: ReadonlyMap<string, string | undefined> = new Map();

  constructor(clock: Clock) {
    super(clock, { timeoutMs: 1, concurrency: 1 });
  }

  override async read<T>(url: string, parse: (text: string) => T): Promise<Read<T>> {
    const text = this.pages.get(new URL(url).hostname);
    return text === undefined ? { kind: 'failed', reason: 'was not scraped yet' } : { kind: 'read', value: parse(text) };
  }
}

function policyOf(pools: readonly ServicePool[], options: PolicyOptions): Policy {
  const { algorithm, strategy, slo, running, costExpansionRatePercent } = options;
  const pod = { name: RUNNING, port: PORT, uri: '/metrics' };
  const decoded = decodeKind('AutoscalingPolicy', {
    apiVersion: WORKLOAD_API_VERSION,
    kind: 'AutoscalingPolicy',
    metadata: {
      name: 'simulated',
      namespace: NAMESPACE,
      annotations: {
        [Annotations.autoscalerAlgorithm]: algorithm,
        ...(strategy === undefined ? {} : { [Annotations.poolStrategy]: strategy }),
      },
    },
    spec: {
      ...(running === undefined ? {} : { metrics: [{ name: METRIC, targetValue: String(running) }] }),
      ...(slo === undefined ? {} : { slo }),
      heterogeneousTarget: {
        ...(costExpansionRatePercent === undefined ? {} : { costExpansionRatePercent }),
        params: pools.map(({ name, min, max, pricePerHour }) => ({
          target: {
            targetRef: { kind: 'Deployment', name },
            ...(running === undefined ? {} : { metricSources: { [METRIC]: { pod } } }),
          },
          // Whole numbers, in a hundredth of a dollar.
          cost: Math.round(pricePerHour * 100),
          minReplicas: min,
          maxReplicas: max,
        })),
      },
    },
  });
  if (decoded.kind === 'invalid') throw new KvasirError(decoded.findings[0]!);
  const { policies } = readPolicies([decoded.value], [], {
    algorithm: 'default',
    allowCrossNamespaceTargets: false,
    metricWindowMs: METRIC_WINDOW_MS,
  });
  return policies[0]!;
}
