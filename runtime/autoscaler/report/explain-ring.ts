import type { Allocated } from '../allocate';
import type { Applied } from '../apply/apply';
import type { Decision, UnitDecision } from '../decide/decision';
import type { Rest } from '../decide/observation';
import type { MetricInput } from '../observe/metric-input';
import type { Claim } from './conditions';

/** Everything that one round did for one policy. Plain data. */
export interface ExplainedRound {
  /** RFC 3339. */
  readonly at: string;
  /** `Kind namespace/name` of the policy or binding. */
  readonly policy: string;
  readonly algorithm: 'default' | 'kthena';
  /** Per target or role: replicas before, what each metric asked for, each rule that changed it, and the outcome. */
  readonly units: readonly UnitDecision[];
  /** Per target or role: what was read of each metric. */
  readonly inputs?: readonly (readonly MetricInput[])[];
  /** Of several pools: the load, in replicas of the weakest one, what a replica of each carries of it, and the cost of the mix. */
  readonly mix?: Decision['mix'];
  /** Per target or role: who could wake it at zero, and what keeps its last replica; absent where the policy does not let it rest. */
  readonly rests?: readonly (Rest | undefined)[];
  /** Why nothing was written although something was decided. */
  readonly hold?: string;
  readonly written: Applied['written'];
  readonly conditions: readonly Claim[];
}

/** The last rounds of every policy. */
export class ExplainRing {
  private readonly byPolicy = new Map<string, ExplainedRound[]>();

  constructor(private readonly roundsPerPolicy: number) {}

  add(at: string, allocated: Allocated, applied: Applied, conditions: readonly Claim[]): ExplainedRound {
    const { policy } = allocated;
    const hold = allocated.kind === 'decided' ? (allocated.hold ?? applied.failure)?.message : allocated.problem.message;
    const explained: ExplainedRound = {
      at,
      policy: policy.name,
      algorithm: policy.spec.algorithm.name,
      units: allocated.kind === 'decided' ? allocated.decision.units : [],
      ...(allocated.kind === 'decided' && allocated.inputs && { inputs: allocated.inputs }),
      ...(allocated.kind === 'decided' && allocated.decision.mix && { mix: allocated.decision.mix }),
      ...(allocated.kind === 'decided' && policy.mayRest && { rests: allocated.rests }),
      ...(hold !== undefined && { hold }),
      written: applied.written,
      conditions,
    };
    const rounds = this.byPolicy.get(policy.id) ?? [];
    rounds.push(explained);
    if (rounds.length > this.roundsPerPolicy) rounds.shift();
    this.byPolicy.set(policy.id, rounds);
    return explained;
  }

  /** Oldest first. @param policy `namespace/name` or `Kind namespace/name`; undefined: all. */
  rounds(policy?: string): readonly ExplainedRound[] {
    const all = [...this.byPolicy.values()].flat();
    return policy === undefined ? all : all.filter((round) => round.policy === policy || round.policy.endsWith(` ${policy}`));
  }

  keepOnly(isWanted: (id: string) => boolean): void {
    for (const id of this.byPolicy.keys()) if (!isWanted(id)) this.byPolicy.delete(id);
  }
}
