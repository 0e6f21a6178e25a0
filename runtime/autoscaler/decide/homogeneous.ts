import type { Decided, Memory } from './decision';
import { heldBack } from './held-back';
import type { Observation } from './observation';
import { decideCount, unitDecision } from './scaler';
import type { PolicySpec, UnitSpec } from './spec';

/** Sizes one target by the load of its replicas. One whose pods do not start is not grown; Kthena goes on asking for more. */
export function decideHomogeneous(spec: PolicySpec, unit: UnitSpec, observation: Observation, memory: Memory): Decided {
  const [seen] = observation.units;
  if (seen === undefined) throw new RangeError('an observation of a homogeneous target has one unit');
  const { current, metrics, unreadyPods, rest } = seen;
  const demand = { current, bounds: unit, tolerance: spec.tolerance, metrics, unreadyPods, targets: 1, ...(rest && { rest }) };
  const { count, history } = decideCount(spec, demand, memory[unit.name], observation);
  const sized = unitDecision(unit.name, current, count);
  const decided = spec.algorithm.name === 'kthena' ? sized : heldBack(sized, unit, seen);
  return {
    decision: { units: [decided], isRatioAdjusted: false, isRatioViolated: false },
    memory: { [unit.name]: history },
  };
}
