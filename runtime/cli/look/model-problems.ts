import { describeObject } from '../../../src/api/meta';
import { nearestName } from '../../../src/api/nearest-name';
import type { Finding } from '../../../src/errors';
import type { WorkloadSnapshot } from '../../cluster/snapshot-workload';
import type { Look } from './look';
import type { ModelView } from './model-view';
import { conditionOf, type PolicyView } from './policy-view';
import type { PoolView, ServerView } from './server-view';

/** What is wrong with one model, what it comes from and what to do, errors first. Pure. */
export function modelProblems(model: Omit<ModelView, 'problems'>, look: Look): readonly Finding[] {
  const problems = [
    ...ofObjects(model, look),
    ...model.servers.flatMap((server) => (look.isLive ? [...ofServer(server, model, look)] : [])),
    ...noRoute(model),
    ...model.policies.flatMap((policy) => (look.isLive ? [...ofPolicy(policy)] : [])),
    ...ofEndpoints(model, look),
  ];
  const rank = { error: 0, warning: 1, info: 2 };
  return problems.sort((a, b) => rank[a.severity] - rank[b.severity]);
}

/** Findings about the objects that make up the model. */
function ofObjects({ rules, servers, policies, providers }: Omit<ModelView, 'problems'>, { findings }: Look): readonly Finding[] {
  const names = new Set([
    ...rules.map(({ route }) => describeObject(route)),
    ...servers.flatMap(({ server, pools }) => [describeObject(server), ...pools.flatMap(({ workload }) => workload ?? [])]),
    ...policies.map(({ name }) => name),
    ...providers.map((key) => `ExternalModelProvider ${key}`),
  ]);
  return findings.filter(({ object }) => object !== undefined && names.has(object));
}

function* noRoute({ isRouted, servers }: Omit<ModelView, 'problems'>): Iterable<Finding> {
  const [view] = servers;
  if (isRouted || view === undefined) return;
  yield {
    code: 'status/no-route',
    severity: 'warning',
    object: describeObject(view.server),
    message: 'no ModelRoute leads to it, so that no request reaches its pods',
    remedy: `add a ModelRoute in namespace ${view.server.metadata.namespace ?? 'default'} with targetModels: [{modelServerName: ${view.server.metadata.name}}]`,
  };
}

function* ofServer({ server, pools }: ServerView, { state }: Omit<ModelView, 'problems'>, look: Look): Iterable<Finding> {
  const object = describeObject(server);
  if (pools.length === 0) {
    yield {
      code: 'routing/no-pods',
      severity: 'error',
      object,
      field: 'spec.workloadSelector.matchLabels',
      message: `selects nobody: no pod and no workload has ${labelText(server.spec.workloadSelector.matchLabels ?? {})}`,
      remedy: nearMiss(server, look.snapshot.workloads) ?? 'correct the labels, or add the workload',
    };
    return;
  }
  const there = pools.reduce((sum, pool) => sum + pool.podsThere, 0);
  const ready = pools.reduce((sum, pool) => sum + pool.podsReady, 0);
  if (there === 0) {
    if (state === 'Asleep') return;
    const wanted = pools.reduce((sum, pool) => sum + (pool.podsWanted ?? 0), 0);
    yield {
      code: 'status/no-pod',
      severity: 'error',
      object,
      message:
        wanted === 0
          ? `${listed(pools)} asks for no replicas, and no policy would bring one back`
          : `${listed(pools)} asks for ${wanted} pods, and none is there`,
      remedy: wanted === 0 ? 'set replicas, or add an AutoscalingPolicy' : 'look at its events with kubectl describe',
    };
    return;
  }
  const waiting = pools.flatMap(({ notReady }) => notReady);
  if (ready === 0) {
    yield {
      code: 'status/no-ready-pod',
      severity: state === 'Starting' ? 'warning' : 'error',
      object,
      message: `none of its ${there} pods is ready: ${reasonsOf(waiting)}`,
      remedy: state === 'Starting' ? 'wait until the model is loaded; requests get 503 until then' : 'look at the log of the pod',
    };
  } else if (waiting.length > 0) {
    yield {
      code: 'status/pods-not-ready',
      severity: 'warning',
      object,
      message: `${waiting.length} of its ${there} pods ${waiting.length === 1 ? 'is' : 'are'} not ready: ${reasonsOf(waiting)}`,
      remedy: 'the others serve; kvasir explain pod tells more',
    };
  }
}

/** Conditions of a policy that a person can do something about. */
function* ofPolicy(policy: PolicyView): Iterable<Finding> {
  const object = policy.name;
  const ready = conditionOf(policy, 'Ready');
  if (ready === undefined) {
    yield {
      code: 'status/no-decision',
      severity: 'warning',
      object,
      message: 'no autoscaler has acted on it yet',
      remedy: 'see that one runs and may write its status',
    };
    return;
  }
  if (ready.status === 'False') {
    yield {
      code: 'status/policy-not-ready',
      severity: ready.reason === 'Paused' || ready.reason === 'RecommendOnly' ? 'info' : 'error',
      object,
      message: `is not acted on (${ready.reason}): ${ready.message}`,
      remedy: POLICY_REMEDIES[ready.reason] ?? 'replicas stay as they are until then',
    };
  }
  const limited = conditionOf(policy, 'Limited');
  const remedy = limited?.status === 'True' ? LIMIT_REMEDIES[limited.reason] : undefined;
  if (limited === undefined || remedy === undefined) return;
  const severity = limited.reason === 'AtMaximum' ? 'warning' : 'info';
  yield { code: 'status/limited', severity, object, message: `${limited.message} (${limited.reason})`, remedy };
}

const POLICY_REMEDIES: Readonly<Record<string, string>> = {
  TargetMissing: 'correct targetRef, or add the workload',
  RoleMissing: 'name a role that the ModelServing has',
  TargetConflict: 'delete one of the two policies',
  ForeignController: 'delete the HorizontalPodAutoscaler, or the policy',
  MetricMissing: 'see that the pods expose the metric at the port of metricSources',
  Paused: 'remove the annotation kvasir.dev/pause',
  RecommendOnly: 'remove the annotation kvasir.dev/recommend-only',
};

/** Limits that somebody can lift; the others are how scaling works. */
const LIMIT_REMEDIES: Readonly<Record<string, string>> = {
  AtMaximum: 'raise maxReplicas, or expect requests to wait',
  NoWakeSignal: 'let a ModelServer select the pods, or set minReplicas to 1',
  MetricMissing: 'see that the pods expose the metric',
};

/** What the router holds against pods that Kubernetes calls ready. */
function* ofEndpoints({ servers }: Omit<ModelView, 'problems'>, { endpoints }: Look): Iterable<Finding> {
  if (endpoints === undefined) return;
  const pods = new Set(servers.flatMap(({ pools }) => pools.flatMap((pool) => pool.pods)));
  for (const pod of pods) {
    const seen = endpoints.get(pod);
    if (seen?.isEjected !== true) continue;
    yield {
      code: 'status/ejected',
      severity: 'warning',
      object: `Pod ${pod}`,
      message: 'the router leaves it alone for a while, because requests to it failed',
      remedy: 'look at its log; it is tried again by itself',
    };
  }
}

/** Of the workloads of the namespace the one whose pods have most of the labels, or nearly have them. */
function nearMiss({ metadata, spec }: ServerView['server'], workloads: readonly WorkloadSnapshot[]): string | undefined {
  const wanted = Object.entries(spec.workloadSelector.matchLabels ?? {});
  const candidates = workloads
    .filter(({ target }) => target.namespace === (metadata.namespace ?? 'default'))
    .flatMap(({ target, podLabels }) => podLabels.map((labels) => ({ target, labels, ...likeness(wanted, labels) })))
    .sort((a, b) => b.alike - a.alike);
  const [best] = candidates;
  if (best === undefined || best.alike === 0) return undefined;
  const has = best.lacks.map(([key]) => `${key}=${best.labels[key] ?? '(absent)'}`).join(', ');
  return `pods of ${best.target.kind} ${best.target.name} have ${has}; correct one of the two`;
}

/** How many of the labels are there, a misspelt one counting half, and which are not. */
function likeness(
  wanted: readonly (readonly [string, string])[],
  labels: Readonly<Record<string, string>>,
): { readonly alike: number; readonly lacks: readonly (readonly [string, string])[] } {
  const lacks = wanted.filter(([key, value]) => labels[key] !== value);
  const misspelt = lacks.filter(([key, value]) => labels[key] !== undefined && nearestName(value, [labels[key]]) !== undefined);
  return { alike: wanted.length - lacks.length + misspelt.length / 2, lacks };
}

const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',') || 'no labels';

const listed = (pools: readonly PoolView[]): string =>
  pools.flatMap(({ workload }) => workload ?? []).join(', ') || 'its workload';

/** Each reason once, with how many pods it holds back. */
function reasonsOf(waiting: PoolView['notReady']): string {
  const counts = new Map<string, number>();
  for (const { status, why } of waiting) {
    const reason = why === undefined ? status : `${status} (${why})`;
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => (counts.size === 1 ? reason : `${count} × ${reason}`)).join(', ');
}
