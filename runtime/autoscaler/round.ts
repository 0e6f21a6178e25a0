import type { Leadership } from '../cluster/cluster';
import { type Allocated, actingPolicies, allocate, type ForeignScaler, type Recommended } from './allocate';
import { apply } from './apply/apply';
import type { Drain } from './apply/drain';
import type { Claims } from './claims';
import { decide } from './decide/decide';
import type { Room } from './limits/room';
import type { Memories } from './memories';
import { metricInput } from './observe/metric-input';
import { type Observed, observe, observeCalled } from './observe/observe';
import { type PodTraffic, podTraffic } from './observe/pod-traffic';
import type { RoundView } from './observe/round-view';
import type { Policy } from './policy';
import type { Reporter } from './report/reporter';

export interface RoundDependencies {
  readonly view: RoundView;
  readonly memories: Memories;
  readonly claims: Claims;
  readonly drain: Drain;
  /** Other controllers that scale things. */
  readonly foreign: readonly ForeignScaler[];
  readonly leadership: Leadership;
  readonly reporter: Reporter;
  readonly room: Room;
  /** Longest time that streams of a pod may go on before it goes. */
  readonly drainTimeoutMs: number;
}

/** One round over all policies, in order of precedence. Level-triggered: safe to run twice, and after any number of missed ones. */
export async function round(policies: readonly Policy[], deps: RoundDependencies): Promise<void> {
  const acting = actingPolicies(policies, deps.foreign, deps.room.isDryRun);
  const unclaimed = await deps.claims.take(acting, policies);
  const observations = await Promise.all(
    policies.map(async (policy): Promise<Observed> => {
      const problem = unclaimed.get(policy);
      return problem === undefined ? observe(policy, deps.view) : { kind: 'unseen', policy, problem };
    }),
  );
  const recommendations = observations.map((observed) => recommend(observed, deps.memories));
  const decisions = allocate(recommendations, policies, deps.foreign, deps.room.lookAgain(deps.view));
  for (const each of decisions) {
    // Only another pool could take the share of what has no room.
    if (each.kind !== 'decided' || each.policy.spec.target.kind !== 'heterogeneous') continue;
    deps.view.starts.noteRefused(each.policy.id, each.decision, deps.view.atMs);
  }
  await carryOut(decisions, deps, podTraffic(deps.drainTimeoutMs, deps.view));
}

/**
 * Wakes what requests wait for, outside the rounds: targets without replicas get their first one, and those that were about to go to zero
 * stay in routing. No metric is read for that.
 *
 * @param policies all of them, in order of precedence.
 * @returns whether everything that was to be written was.
 */
export async function wakeRound(
  policies: readonly Policy[],
  deps: Omit<RoundDependencies, 'view'> & {
    readonly view: Omit<
      RoundView,
      'nowMs' | 'routers' | 'http' | 'prometheus' | 'pages' | 'percentile' | 'capacities' | 'starts'
    >;
  },
): Promise<boolean> {
  const waiting = deps.view.wakes.waiting().map(({ target }) => target);
  const called = policies.filter(
    ({ mayRest, units }) =>
      mayRest &&
      units.some(({ target: { kind, namespace, name } }) =>
        waiting.some((target) => target.kind === kind && target.namespace === namespace && target.name === name),
      ),
  );
  const acting = actingPolicies(policies, deps.foreign, deps.room.isDryRun);
  const unclaimed = await deps.claims.take(
    called.filter((policy) => acting.includes(policy)),
    policies,
  );
  const claimed = called.filter((policy) => !unclaimed.has(policy));
  const observations = await Promise.all(claimed.map((policy) => observeCalled(policy, deps.view)));
  const found = observations.flatMap((observed) => observed ?? []);
  await Promise.all(found.map((each) => (each.kind === 'up' ? deps.drain.undo(each.pods) : undefined)));
  const recommendations = found.flatMap((each) => (each.kind === 'seen' ? [recommend(each, deps.memories)] : []));
  const decisions = allocate(recommendations, policies, deps.foreign, deps.room.look(deps.view));
  const isDone = await carryOut(decisions, deps, podTraffic(deps.drainTimeoutMs, deps.view));
  return isDone && unclaimed.size === 0;
}

async function carryOut(
  decisions: readonly Allocated[],
  { leadership, reporter, claims, drain, room, view: { scaling, wakes, workloadPods } }: Parameters<typeof wakeRound>[1],
  traffic: PodTraffic,
): Promise<boolean> {
  let isDone = true;
  for (const decision of decisions) {
    const objection = claims.objection(decision);
    const applied =
      objection === undefined
        ? await apply(decision, { leadership, scaling, wakes, drain, traffic })
        : { written: [], failure: objection };
    await claims.review(decision, applied);
    if (applied.failure !== undefined) isDone = false;
    if (decision.kind === 'decided') room.promise(decision, applied, workloadPods);
    if (leadership.held()) await reporter.report(decision, applied);
  }
  return isDone;
}

function recommend(observed: Observed, memories: Memories): Recommended {
  if (observed.kind === 'unseen') return observed;
  const { policy, observation, handles, learned } = observed;
  const { decision, memory } = decide(policy.spec, observation, memories.of(policy, handles));
  memories.keep(policy, handles, memory);
  return {
    kind: 'decided',
    policy,
    decision,
    handles,
    rests: observation.units.map(({ rest }) => rest),
    inputs: observation.units.map(({ metrics }) => metrics.map(metricInput)),
    ...(learned && { learned }),
  };
}
