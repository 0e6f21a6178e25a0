import type { Leadership } from '../cluster/cluster';
import { allocate, type ForeignScaler, type Recommended } from './allocate';
import { apply } from './apply/apply';
import { decide } from './decide/decide';
import type { Memories } from './memories';
import { type Observed, observe, type RoundView } from './observe/observe';
import type { Policy } from './policy';
import type { Reporter } from './report/reporter';

export interface RoundDependencies {
  readonly view: RoundView;
  readonly memories: Memories;
  /** Other controllers that scale things. */
  readonly foreign: readonly ForeignScaler[];
  readonly leadership: Leadership;
  readonly reporter: Reporter;
}

/** One round over all policies, in order of precedence. Level-triggered: safe to run twice, and after any number of missed ones. */
export async function round(policies: readonly Policy[], deps: RoundDependencies): Promise<void> {
  const observations = await Promise.all(policies.map((policy) => observe(policy, deps.view)));
  const recommendations = observations.map((observed) => recommend(observed, deps.memories));
  const decisions = allocate(recommendations, deps.foreign);
  for (const decision of decisions) {
    const applied = await apply(decision, { leadership: deps.leadership, scaling: deps.view.scaling });
    if (deps.leadership.held()) await deps.reporter.report(decision, applied);
  }
}

function recommend(observed: Observed, memories: Memories): Recommended {
  if (observed.kind === 'unseen') return observed;
  const { policy, observation, handles } = observed;
  const { decision, memory } = decide(policy.spec, observation, memories.of(policy, handles));
  memories.keep(policy, handles, memory);
  return { kind: 'decided', policy, decision, handles };
}
