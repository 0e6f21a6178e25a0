import { goalOfPart, tokenDemand, tokensOfPart } from '../decide/capacity/request-part';
import type { MetricObservation, UnitObservation } from '../decide/observation';
import type { Policy, PolicyUnit } from '../policy';
import type { PoolRate } from './capacity-book';
import { heldDemand, withHeld } from './held-demand';
import { poolEngine } from './pool-engine';
import { poolWindows } from './pool-windows';
import { replicaDemands } from './replica-demands';
import { rolePart } from './role-part';
import type { RoundView } from './round-view';
import { withSloMetric } from './slo-metric';
import type { TargetHandle } from './target-handle';

/** A role, and what was learned of its engines. */
export interface SeenRole {
  readonly seen: UnitObservation;
  readonly learned?: PoolRate['learned'];
}

/**
 * What replicas of a role carry under `spec.slo`, and what is asked of them: of prefill `ttftMs` and uncached prompt tokens per second, of decode
 * `itlMs` and output tokens per second. A role whose latency is not asked for is sized by its metrics alone.
 */
export async function withRoleCapacity(
  { id, goal, object }: Policy,
  named: PolicyUnit,
  unit: UnitObservation,
  { pods }: TargetHandle,
  view: RoundView,
): Promise<SeenRole> {
  if (goal === undefined) return { seen: unit };
  const part = rolePart(named, view);
  if (part === undefined) {
    return missing(
      unit,
      `whether role ${unit.name} prefills or decodes is not known; have pdGroup of a ModelServer tell, call the roles prefill and decode, or remove spec.slo`,
    );
  }
  const goalOfRole = goalOfPart(part, goal);
  if (goalOfRole === undefined) return { seen: unit };
  const engine = poolEngine(named.target, view, named.role);
  if (engine === undefined) {
    return missing(unit, `the pods of role ${unit.name} run no engine of the catalogue, or name no accelerator of it`);
  }
  const { windows, recent, whyNone } = await poolWindows(engine, pods, view);
  const [rate] = view.capacities.learn(id, [{ name: unit.name, engine, windows, part }], goalOfRole, object.status);
  const { learned, mix } = rate!;
  if (!(rate!.rate > 0)) {
    const reason = `even a lone request is slower than spec.slo in role ${unit.name}; widen it, or take faster replicas`;
    return { ...missing(unit, reason), learned };
  }
  const held = (await heldDemand(named, pods, view)) * tokensOfPart(part, mix);
  const values = withHeld(
    replicaDemands(pods, recent, named.role, (window) => tokenDemand(part, window, mix)),
    held,
  );
  const reading: MetricObservation['reading'] =
    values.length > 0 ? { kind: 'samples', values, over: 'window' } : { kind: 'missing', reason: whyNone };
  return { seen: withSloMetric(unit, { targetValue: rate!.rate * tokensOfPart(part, mix), reading }), learned };
}

function missing(unit: UnitObservation, reason: string): SeenRole {
  return { seen: withSloMetric(unit, { reading: { kind: 'missing', reason } }) };
}
