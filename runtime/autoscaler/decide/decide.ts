import type { Decided, Memory } from './decision';
import { decideDisaggregated } from './disaggregated';
import { decideHomogeneous } from './homogeneous';
import { decideByBlocks } from './kthena/blocks';
import { decideByLeastCost } from './least-cost';
import type { Observation } from './observation';
import type { PolicySpec } from './spec';

/** What a policy wants after one round, and what it remembers for the next. Pure: same inputs, same answer. */
export function decide(spec: PolicySpec, observation: Observation, memory: Memory): Decided {
  const { target } = spec;
  switch (target.kind) {
    case 'homogeneous':
      return decideHomogeneous(spec, target.unit, observation, memory);
    case 'heterogeneous':
      return spec.algorithm.name === 'kthena' || target.strategy === 'blocks'
        ? decideByBlocks(spec, target, observation, memory)
        : decideByLeastCost(spec, target, observation, memory);
    case 'disaggregated':
      return decideDisaggregated(spec, target, observation, memory);
  }
}
