import type { AutoscalerConfig } from '../../src/config/autoscaler-config';
import type { AutoscalerCluster } from '../cluster/cluster';
import type { Clock, Timer } from '../lib/clock';
import type { ListenAddress } from '../lib/http-listen';
import type { Logger } from '../lib/logger';
import { Metrics } from '../lib/metrics';
import { startMetricsServer } from '../lib/metrics-server';
import type { ForeignScaler } from './allocate';
import { Drain } from './apply/drain';
import { Claims } from './claims';
import { inGroups } from './in-groups';
import { Room } from './limits/room';
import { Memories } from './memories';
import { CapacityBook } from './observe/capacity-book';
import { CAPACITY_FAMILIES } from './observe/engine-window';
import { FleetPageReader } from './observe/fleet-page-reader';
import { foreignScalers } from './observe/foreign-scalers';
import { HttpReader } from './observe/http-reader';
import { PageArchive } from './observe/page-archive';
import { PodPages } from './observe/pod-pages';
import { PrometheusAccess } from './observe/prometheus-access';
import { IDLE_FAMILIES, ROUTER_REQUESTS } from './observe/rest';
import { ROUTER_FAMILIES } from './observe/router-signals';
import { StartBook } from './observe/start-book';
import { WakeWatch } from './observe/wake-watch';
import { learnsCapacity } from './observe/with-capacity';
import type { Policy } from './policy';
import { readPolicies } from './read-policies';
import { AutoscalerMetrics } from './report/autoscaler-metrics';
import { startDebugServer } from './report/debug-server';
import { type ExplainedRound, ExplainRing } from './report/explain-ring';
import { Reporter } from './report/reporter';
import { round, wakeRound } from './round';

export interface AutoscalerOptions {
  readonly cluster: AutoscalerCluster;
  /** All of the autoscaler's time; a faster one makes rounds, windows and limits pass faster. */
  readonly clock: Clock;
  readonly config: AutoscalerConfig;
  readonly log: Logger;
  /**
   * Where `/metrics`, `/healthz` and `/readyz` are served: ready after the first round, and a standby when its view is filled and it knows who
   * leads. @default nowhere
   */
  readonly metricsListen?: ListenAddress;
  /** Where explanations are served. @default nowhere */
  readonly debugListen?: ListenAddress;
  /** Metrics of the only router there is. @default the pods that the configuration's `routerApp` names */
  readonly router?: ListenAddress;
  /** Whether `/metrics` also tells Node's own figures. @default false */
  readonly processMetrics?: boolean;
  /** Called once per policy and round. */
  readonly onDecision?: (round: ExplainedRound) => void;
}

export interface RunningAutoscaler {
  readonly metricsAddress?: ListenAddress;
  readonly debugAddress?: ListenAddress;
  /** Resolves when one round has ended. */
  whenFirstRound(): Promise<void>;
  /** The last rounds, oldest first. @param policy `namespace/name`; undefined: every policy. */
  explain(policy?: string): readonly ExplainedRound[];
  /** Ends the round in progress, then every timer and socket. */
  close(): Promise<void>;
}

/**
 * Starts the autoscaler: a round at once, then one each `syncPeriodMs`.
 *
 * @throws KvasirError when an address cannot be had.
 */
export async function startAutoscaler(options: AutoscalerOptions): Promise<RunningAutoscaler> {
  const { cluster, config, log } = options;
  const metrics = new Metrics();
  if (options.processMetrics === true) metrics.withProcessMetrics();
  const ring = new ExplainRing(config.explainedRounds);
  const loop = new Loop(options, new AutoscalerMetrics(metrics, () => cluster.leadership.held()), ring);
  const metricsServer = options.metricsListen && (await startMetricsServer(metrics, options.metricsListen, () => loop.isReady()));
  const debugServer =
    options.debugListen &&
    (await startDebugServer(ring, options.debugListen).catch(async (error: unknown) => {
      await metricsServer?.close();
      throw error;
    }));
  loop.start();
  log.info(
    { syncPeriodMs: config.syncPeriodMs, algorithm: config.algorithm, leader: cluster.leadership.held() },
    'autoscaler started',
  );
  return {
    ...(metricsServer && { metricsAddress: metricsServer.address }),
    ...(debugServer && { debugAddress: debugServer.address }),
    whenFirstRound: () => loop.firstRound,
    explain: (policy) => ring.rounds(policy),
    close: async () => {
      await loop.stop();
      await Promise.all([metricsServer?.close(), debugServer?.close()]);
      log.info('autoscaler ended');
    },
  };
}

/** Kinds without which nothing can be decided. */
const NEEDED = ['AutoscalingPolicy', 'AutoscalingPolicyBinding', 'Pod'] as const;

/** How soon a wake that could not be written is tried again. */
const WAKE_RETRY_MS = 250;

/** Runs rounds one after the other, and between and beside them wakes what requests wait for. */
class Loop {
  private hasRun = false;
  private wasReady = false;
  readonly firstRound: Promise<void>;
  private settleFirst: () => void = () => {};
  private readonly http: HttpReader;
  private readonly prometheus: PrometheusAccess;
  private readonly archive: PageArchive;
  private readonly reader = new FleetPageReader();
  private readonly memories = new Memories();
  private readonly claims: Claims;
  private readonly capacities = new CapacityBook();
  private readonly starts = new StartBook();
  private readonly room: Room;
  private readonly reporter: Reporter;
  private readonly wakes: WakeWatch;
  private readonly drain: Drain;
  private unwatch: (() => void) | undefined;
  private timer: Timer | undefined;
  private retry: Timer | undefined;
  private looking: Promise<void> | undefined;
  private mustLookAgain = false;
  private running: Promise<void> = Promise.resolve();
  private isStopped = false;

  constructor(
    private readonly options: AutoscalerOptions,
    private readonly metrics: AutoscalerMetrics,
    ring: ExplainRing,
  ) {
    const { cluster, clock, config, log, onDecision } = options;
    this.http = new HttpReader(clock, { timeoutMs: config.scrapeTimeoutMs, concurrency: config.scrapeConcurrency });
    this.prometheus = new PrometheusAccess(config.prometheusServers);
    this.archive = new PageArchive(config.metricWindowMs);
    this.wakes = new WakeWatch(clock, cluster.wakeRequests);
    this.drain = new Drain(cluster.pods, clock);
    this.claims = new Claims(cluster, clock);
    this.room = new Room(config, cluster.objects);
    const { status, events } = cluster;
    this.reporter = new Reporter({ clock, status, events, metrics, ring, log, ...(onDecision && { onDecision }) });
    this.firstRound = new Promise((resolve) => {
      this.settleFirst = resolve;
    });
  }

  /** Once it was, it stays so: between two leaders it takes over, or waits. */
  isReady(): boolean {
    this.wasReady ||= this.hasRun || (this.isSynced() && this.options.cluster.leadership.contest?.standsBy() === true);
    return this.wasReady;
  }

  start(): void {
    this.unwatch = this.wakes.changed(() => this.look());
    this.running = this.turn();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.timer?.cancel();
    this.retry?.cancel();
    this.unwatch?.();
    await this.running;
    await this.looking;
    await this.prometheus.close();
    this.settleFirst();
  }

  private async turn(): Promise<void> {
    const { clock, config, log } = this.options;
    const startedMs = clock.monotonic();
    try {
      if (await this.runRound(startedMs)) {
        this.hasRun = true;
        this.settleFirst();
      }
    } catch (error) {
      log.error({ err: error }, 'a round failed; the next one starts afresh');
    }
    // Who began to wait while something went to zero is seen at once.
    this.look();
    if (this.isStopped) return;
    // Before the first round the view may still be filling: look again soon.
    const periodMs = this.hasRun ? config.syncPeriodMs : Math.min(config.syncPeriodMs, 1000);
    this.timer = clock.after(periodMs - (clock.monotonic() - startedMs), () => {
      this.running = this.turn();
    });
  }

  private look(): void {
    this.mustLookAgain = true;
    this.looking ??= this.wake().finally(() => {
      this.looking = undefined;
    });
  }

  /** Level-triggered: looks at all leases, whichever of them changed. */
  private async wake(): Promise<void> {
    const { cluster, clock, config, log } = this.options;
    const { objects, scaling, workloadPods, leadership } = cluster;
    while (this.mustLookAgain && !this.isStopped) {
      this.mustLookAgain = false;
      if (this.wakes.waiting().length === 0 || !leadership.held() || !objects.freshness('AutoscalingPolicy').isSynced) return;
      let isDone = false;
      try {
        const { policies } = this.policies();
        isDone = await wakeRound(policies, {
          view: { atMs: clock.monotonic(), isViewStale: false, objects, scaling, workloadPods, wakes: this.wakes },
          memories: this.memories,
          claims: this.claims,
          drain: this.drain,
          foreign: this.foreign(),
          leadership,
          reporter: this.reporter,
          room: this.room,
          drainTimeoutMs: config.drainTimeoutMs,
        });
      } catch (error) {
        log.error({ err: error }, 'waking failed; it is tried again');
      }
      if (isDone || this.isStopped) continue;
      this.retry?.cancel();
      this.retry = clock.after(Math.min(WAKE_RETRY_MS, config.syncPeriodMs), () => this.look());
    }
  }

  private isSynced(): boolean {
    const { objects } = this.options.cluster;
    return NEEDED.every((kind) => objects.freshness(kind).isSynced);
  }

  private policies(): ReturnType<typeof readPolicies> {
    const { objects } = this.options.cluster;
    const read = readPolicies(objects.list('AutoscalingPolicy'), objects.list('AutoscalingPolicyBinding'), this.options.config);
    return inGroups(read, (target) => objects.get('ModelServing', target.namespace, target.name)?.spec.replicas ?? 1);
  }

  private foreign(): readonly ForeignScaler[] {
    return foreignScalers(this.options.cluster.objects);
  }

  /** @returns false when there was nothing to look at yet, or another process is the leader. */
  private async runRound(atMs: number): Promise<boolean> {
    const { cluster, clock, config } = this.options;
    const { objects, scaling, workloadPods, leadership } = cluster;
    const { wakes } = this;
    if (!leadership.held() || !this.isSynced()) return false;

    const { policies, unusable } = this.policies();
    this.memories.keepOnly(policies);
    const ids = new Set(policies.map(({ id }) => id));
    this.capacities.keepOnly(ids);
    this.starts.keepOnly(ids);
    this.reporter.keepOnly(new Set([...policies, ...unusable].map(({ id }) => id)));

    const { http, archive, reader } = this;
    reader.want(familiesOf(policies));
    const pages = new PodPages({ clock, http, archive, reader });
    const isViewStale = NEEDED.some((kind) => objects.freshness(kind).ageMs > 2 * config.syncPeriodMs);
    await round(policies, {
      view: {
        atMs,
        nowMs: clock.now(),
        isViewStale,
        objects,
        scaling,
        workloadPods,
        wakes,
        http,
        prometheus: this.prometheus,
        pages,
        routers: {
          app: config.routerApp,
          port: config.routerMetricsPort,
          ...(this.options.router && { own: this.options.router }),
        },
        capacities: this.capacities,
        starts: this.starts,
        percentile: config.histogramPercentile,
      },
      memories: this.memories,
      claims: this.claims,
      drain: this.drain,
      foreign: this.foreign(),
      leadership,
      reporter: this.reporter,
      room: this.room,
      drainTimeoutMs: config.drainTimeoutMs,
    });
    for (const policy of unusable) await this.reporter.reportUnusable(policy);

    pages.finish();
    this.metrics.endRound((clock.monotonic() - atMs) / 1000, await pages.tally());
    return true;
  }
}

function familiesOf(policies: readonly Policy[]): ReadonlySet<string> {
  const queries = policies.flatMap((policy) => policy.units.flatMap((unit) => unit.queries));
  const named = queries.flatMap(({ source }) => (source.kind === 'pod' ? [source.family] : []));
  return new Set([
    ...named,
    // Any target may have pods to drain.
    ...IDLE_FAMILIES,
    ...(policies.some(({ goal }) => goal !== undefined) || queries.some(({ source }) => source.kind === 'router')
      ? ROUTER_FAMILIES
      : []),
    ...(policies.some(({ mayRest }) => mayRest) ? [ROUTER_REQUESTS] : []),
    ...(policies.some(learnsCapacity) ? CAPACITY_FAMILIES : []),
  ]);
}
