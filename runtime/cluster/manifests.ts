import type { KubeObject } from '../../src/api/meta';
import { type Finding, findingLine } from '../../src/errors';
import { workloadKindOf } from '../../src/expand/expand-workload';
import { planEngine } from '../../src/expand/plan-engine';
import type { Clock } from '../lib/clock';
import { PathWatcher } from '../lib/path-watcher';
import type { Cluster } from './cluster';
import { admitWrite } from './manifests/admission';
import { EventRing, type NotedEvent } from './manifests/event-ring';
import { FILE_PODS, FilePods } from './manifests/file-pods';
import { ManifestApplier } from './manifests/manifest-applier';
import { ManifestFiles } from './manifests/manifest-files';
import { ObjectStore } from './manifests/object-store';
import { PodSupervisor } from './manifests/pod-supervisor';
import { ReconcileQueue } from './manifests/reconcile-queue';
import { ScaleAccess } from './manifests/scale-access';
import { StatusWriter } from './manifests/status-writer';
import { WakeAccess } from './manifests/wake-access';
import { WorkloadControllers } from './manifests/workload-controllers';
import type { PodRunner } from './pod-runner';
import { ObjectsView } from './views/objects-view';
import { SecretsView } from './views/secrets-view';
import { SleepersView } from './views/sleepers-view';
import { WakeRequestsView } from './views/wake-requests-view';
import { WorkloadPods } from './views/workload-pods';

export interface ManifestClusterOptions {
  /** Files, and folders whose *.yaml, *.yml and *.json are read at any depth. */
  readonly paths: readonly string[];
  readonly clock: Clock;
  /** Runs the pods. @default none: workloads get no pods, and only pods that the files give with `status.podIP` can be reached. */
  readonly runner?: PodRunner;
  /** Whether files that change are applied. @default false */
  readonly watch?: boolean;
  /** Namespace of objects that name none. @default 'default' */
  readonly namespace?: string;
  /** Told of each finding once, when it appears. */
  readonly onFinding?: (finding: Finding) => void;
}

/** A workload as a table shows it. */
export interface WorkloadView {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Replicas asked for. */
  readonly desired: number;
  /** Replicas that are ready; of a ModelServing, serving groups; of a LeaderWorkerSet, groups. */
  readonly ready: number;
}

/** A cluster made of a folder of manifests. */
export interface ManifestCluster extends Cluster {
  /** What is wrong with the manifests now. */
  findings(): readonly Finding[];
  /** Resolves as soon as every wanted pod is ready or has failed, and none that is not wanted is left. */
  settled(): Promise<void>;
  workloads(): readonly WorkloadView[];
  /** Events that were noted, the latest last. */
  notedEvents(): readonly NotedEvent[];
  /** Reads the files now and applies what changed. */
  refresh(): Promise<void>;
}

/** Key of the queue under which engines are compared with what ModelServers and ModelRoutes say. */
const ENGINES = 'engines';

/**
 * Holds the objects of some manifest files as a cluster does: with uids, versions, generations and conflicts, defaults and validation.
 * It has no admission control, RBAC, field ownership or garbage collection. Workloads become pods, which `runner` runs.
 *
 * @returns the cluster, once all files were read and their pods made (not started).
 */
export async function openManifestCluster(options: ManifestClusterOptions): Promise<ManifestCluster> {
  const { clock, runner } = options;
  const store = new ObjectStore(clock);
  let isSynced = false;
  // The store is the source of truth itself, so the view is never old.
  const objects = new ObjectsView(store, () => ({ isSynced, ageMs: 0 }));
  const events = new EventRing(clock);
  const status = new StatusWriter(store, admitWrite);
  const workloadPods = new WorkloadPods(store);
  const wake = new WakeAccess(store, clock, new SleepersView(store, workloadPods));
  const wakeRequests = new WakeRequestsView(store, (namespace, uid) => wake.read(namespace, uid));
  const queue = new ReconcileQueue(reconcile, () => tellSettled());
  const supervisor =
    runner === undefined
      ? undefined
      : new PodSupervisor({
          store,
          clock,
          runner,
          events,
          planEngine: (pod) =>
            planEngine(pod, { modelServers: objects.list('ModelServer'), modelRoutes: objects.list('ModelRoute') }),
        });
  const filePods = new FilePods(store, events, supervisor, queue);
  const controllers = new WorkloadControllers(store, clock, events, supervisor, queue, filePods);
  const files = new ManifestFiles(options.paths);
  const applier = new ManifestApplier(store, options.namespace ?? 'default', filePods);

  const unlisten = store.listen((object, change) => {
    controllers.noteChange(object, change);
    filePods.noteChange(object, change);
    if (object.kind === 'ModelServer' || object.kind === 'ModelRoute') queue.add(ENGINES);
  });

  function reconcile(key: string): void {
    if (key === FILE_PODS) filePods.reconcile();
    else if (key === ENGINES) supervisor?.replan();
    else controllers.reconcile(key);
  }

  let findings: readonly Finding[] = [];
  let reading: Promise<void> | undefined;
  let mustReadAgain = false;
  let isClosed = false;

  async function readOnce(): Promise<void> {
    const set = await files.read();
    if (isClosed) return;
    const known = new Set(findings.map(findingLine));
    findings = [...set.findings, ...applier.apply(set.objects)];
    queue.flush();
    for (const finding of findings) if (!known.has(findingLine(finding))) options.onFinding?.(finding);
  }

  /** One bad change must not end a cluster that runs. */
  function reportFailure(error: unknown): void {
    const message = `the changed files could not be applied: ${error instanceof Error ? error.message : String(error)}`;
    options.onFinding?.({ code: 'manifest/failure', severity: 'error', message, remedy: 'undo the last change' });
  }

  async function refresh(): Promise<void> {
    mustReadAgain = true;
    reading ??= (async () => {
      while (mustReadAgain && !isClosed) {
        mustReadAgain = false;
        await readOnce();
      }
    })().finally(() => {
      reading = undefined;
    });
    await reading;
  }

  let closing: Promise<void> | undefined;
  let waiting: (() => void)[] = [];
  const isSettled = (): boolean =>
    queue.isIdle() && filePods.isSteady() && controllers.isSteady() && (supervisor?.isSettled() ?? true);
  function tellSettled(): void {
    if (waiting.length === 0 || !(isClosed || isSettled())) return;
    const told = waiting;
    waiting = [];
    for (const resolve of told) resolve();
  }

  // Watched before the first read, so that no change falls in between.
  const watcher = options.watch === true ? new PathWatcher(options.paths, () => void refresh().catch(reportFailure)) : undefined;
  await watcher?.start();
  await refresh();
  isSynced = true;

  return {
    objects,
    secrets: new SecretsView(store),
    wake,
    wakeRequests,
    workloadPods,
    scaling: new ScaleAccess(store, admitWrite),
    status,
    pods: status,
    events,
    leadership: { held: () => !isClosed },
    findings: () => findings,
    settled: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        tellSettled();
      }),
    workloads: () => store.all().filter(isWorkload).map(viewOf).sort(byName),
    notedEvents: () => events.list(),
    refresh,
    close() {
      closing ??= close();
      return closing;
    },
  };

  async function close(): Promise<void> {
    isClosed = true;
    watcher?.close();
    queue.close();
    controllers.close();
    await supervisor?.close(0);
    await reading;
    unlisten();
    objects.close();
    wakeRequests.close();
    tellSettled();
  }
}

interface Workload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    /** Of a DisaggregatedSet. */
    readonly slices?: number;
    readonly roles?: readonly { readonly name: string; readonly spec?: { readonly replicas?: number } }[];
  };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly roleStatuses?: readonly { readonly name: string; readonly replicas: number; readonly readyReplicas: number }[];
  };
}

function isWorkload(object: KubeObject): object is Workload {
  return workloadKindOf(object) !== undefined;
}

function viewOf(workload: Workload): WorkloadView {
  const { kind, metadata, spec, status } = workload;
  const { namespace = 'default', name } = metadata;
  if (kind === 'DisaggregatedSet') return { kind, namespace, name, ...roleTotals(workload) };
  return { kind, namespace, name, desired: spec?.replicas ?? 1, ready: status?.readyReplicas ?? status?.availableReplicas ?? 0 };
}

/** Replicas of all roles in all slices. A role that is scaled from outside is told to have what it has. */
function roleTotals({ spec, status }: Workload): Pick<WorkloadView, 'desired' | 'ready'> {
  const statuses = new Map((status?.roleStatuses ?? []).map((role) => [role.name, role]));
  return (spec?.roles ?? []).reduce(
    (total, role) => {
      const own = statuses.get(role.name);
      const written = role.spec?.replicas;
      const desired = written === undefined ? (own?.replicas ?? 1) : written * (spec?.slices ?? 1);
      return { desired: total.desired + desired, ready: total.ready + (own?.readyReplicas ?? 0) };
    },
    { desired: 0, ready: 0 },
  );
}

function byName(a: WorkloadView, b: WorkloadView): number {
  return `${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1;
}
