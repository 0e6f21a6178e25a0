import type { Limit } from './behavior';
import type { UnitDecision } from './decision';
import type { UnitObservation } from './observation';
import type { Bounds } from './rules';

/**
 * `unit` without growth while its pods do not start, where nothing else takes its share. Replicas that are on their way stay; more are not
 * asked for. One is tried in any case, and so is what the minimum asks for. It is said as long as fewer start than are asked for. Pure.
 */
export function heldBack(unit: UnitDecision, { min }: Bounds, { backOff }: Pick<UnitObservation, 'backOff'>): UnitDecision {
  const { desired, current } = unit;
  if (backOff === undefined || desired <= backOff.most) return unit;
  const to = Math.min(desired, Math.max(1, min, current, backOff.most));
  const limit: Limit = { rule: 'back-off', from: desired, to, by: `${unit.name}: ${backOff.reason}` };
  return { ...unit, desired: to, limits: [...unit.limits, limit] };
}
