import { defaultAutoscalerConfig } from '../../../src/config/autoscaler-config';
import { defaultRouterConfig, parseRouterConfig } from '../../../src/config/router-config';
import { type Finding, KvasirError } from '../../../src/errors';
import { type RunningAutoscaler, startAutoscaler } from '../../autoscaler/autoscaler';
import type { ExplainedRound } from '../../autoscaler/report/explain-ring';
import { takeSnapshot } from '../../cluster/cluster-snapshot';
import { type ManifestCluster, openManifestCluster } from '../../cluster/manifests';
import { loopbackAddresses } from '../../cluster/manifests/loopback-addresses';
import type { Clock } from '../../lib/clock';
import type { ListenAddress } from '../../lib/http-listen';
import type { Logger } from '../../lib/logger';
import { seededRandom } from '../../lib/random';
import { readConfig } from '../../lib/read-config';
import { type RunningRouter, startRouter } from '../../router/router';
import type { ModelRow } from './live-table';
import { modelRows } from './model-rows';
import { SimulatedPods } from './simulated-pods';
import { Traffic } from './traffic';

export interface PreviewOptions {
  /** Folders and files with manifests. */
  readonly paths: readonly string[];
  readonly listen: ListenAddress;
  readonly metricsListen: ListenAddress;
  readonly debugListen: ListenAddress;
  /** Where the autoscaler's explanations are served. @default nowhere */
  readonly autoscalerDebugListen?: ListenAddress;
  /** Router configuration file. @default every default */
  readonly configFile?: string;
  /** Time for engines, router and autoscaler alike. */
  readonly clock: Clock;
  readonly seed: number;
  readonly log: Logger;
  /** Told what is wrong with the manifests, once when they are read and again when a changed file is. */
  readonly onFinding: (finding: Finding) => void;
  /** Told each change of replicas. */
  readonly onScaled: (scaled: Scaled) => void;
}

/** The autoscaler changed a target's replicas. */
export interface Scaled {
  /** `Kind namespace/name` of the policy. */
  readonly policy: string;
  readonly target: string;
  readonly from: number;
  readonly to: number;
  /** Since the preview started, in the clock's milliseconds. */
  readonly atMs: number;
}

/** A platform that runs on this machine: simulated engines, the real router, the real autoscaler. */
export interface RunningPreview {
  readonly clock: Clock;
  readonly cluster: ManifestCluster;
  readonly router: RunningRouter;
  readonly autoscaler: RunningAutoscaler;
  readonly pods: SimulatedPods;
  readonly traffic: Traffic;
  readonly scalings: readonly Scaled[];
  rows(): ModelRow[];
  close(): Promise<void>;
}

/**
 * Starts everything that the manifests describe.
 *
 * @throws KvasirError when an address is taken, or when the manifests leave nothing that could serve.
 */
export async function startPreview(options: PreviewOptions): Promise<RunningPreview> {
  const { clock } = options;
  const random = seededRandom(options.seed);
  const pods = new SimulatedPods(clock, random, await loopbackAddresses(process.pid % 4_000_000));
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const early: Finding[] = [];
    let report = (finding: Finding): void => void early.push(finding);
    const cluster = await openManifestCluster({
      paths: options.paths,
      clock,
      runner: pods,
      watch: true,
      onFinding: (finding) => report(finding),
    });
    closers.push(() => cluster.close());
    const problem = servingProblem(cluster, options.paths);
    // What is wrong with a file is also why nothing can be served: then it is the error, and is not told twice.
    const cause = problem && (early.find(({ severity }) => severity === 'error') ?? problem);
    report = options.onFinding;
    for (const finding of early) if (finding !== cause) report(finding);
    if (cause !== undefined) throw new KvasirError(cause);

    const traffic = new Traffic(() => clock.monotonic());
    const configured =
      options.configFile === undefined ? defaultRouterConfig() : readConfig(options.configFile, parseRouterConfig);
    const router = await startRouter({
      cluster,
      clock,
      random,
      // Standard output belongs to the command's own document.
      config: { ...configured, accessLog: { ...configured.accessLog, enabled: configured.accessLog.output !== 'stdout' } },
      listen: options.listen,
      metricsListen: options.metricsListen,
      debugListen: options.debugListen,
      snapshot: () => takeSnapshot(cluster, clock.now()),
      log: options.log.child({ component: 'router' }),
      onRequest: (record) => traffic.add(record),
    });
    closers.push(() => router.close());

    const scalings: Scaled[] = [];
    const autoscaler: RunningAutoscaler = await startAutoscaler({
      cluster,
      clock,
      config: defaultAutoscalerConfig(),
      router: router.metricsAddress,
      ...(options.autoscalerDebugListen && { debugListen: options.autoscalerDebugListen }),
      log: options.log.child({ component: 'autoscaler' }),
      onDecision: (round) => {
        for (const scaled of scaledBy(round, clock.monotonic())) {
          scalings.push(scaled);
          options.onScaled(scaled);
        }
      },
    });
    closers.push(() => autoscaler.close());
    return {
      clock,
      cluster,
      router,
      autoscaler,
      pods,
      traffic,
      scalings,
      close,
      rows: () => modelRows(cluster.objects, pods.running(), traffic),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function servingProblem({ objects }: ManifestCluster, paths: readonly string[]): Finding | undefined {
  const place = { file: paths.join(', '), severity: 'error' } as const;
  if (objects.list('ModelServer').length === 0) {
    return {
      ...place,
      code: 'preview/no-model-server',
      message: 'there is no ModelServer in these manifests',
      remedy: 'give a folder that has one, and its workload and ModelRoute',
    };
  }
  if (objects.list('ModelRoute').length === 0) {
    return {
      ...place,
      code: 'preview/no-model-route',
      message: 'there is no ModelRoute in these manifests',
      remedy: 'give the files of the routes too, such as `kvasir preview servers/ routes/`',
    };
  }
  return undefined;
}

function scaledBy(round: ExplainedRound, atMs: number): Scaled[] {
  return round.written.flatMap((write): Scaled[] => {
    const target = `${write.target.kind} ${write.target.namespace}/${write.target.name}`;
    if (write.kind === 'scale') return [{ policy: round.policy, target, from: write.from, to: write.to, atMs }];
    return Object.entries(write.to).flatMap(([role, to]) => {
      const from = write.from[role] ?? to;
      return from === to ? [] : [{ policy: round.policy, target: `${target} role ${role}`, from, to, atMs }];
    });
  });
}
