import type { Pod } from '../../../src/api/pod';
import { DRAIN_SECONDS } from '../decide/capacity/traffic';
import type { PolicyUnit } from '../policy';
import type { RoundView } from './round-view';
import { readRouterSignal } from './router-signals';

/**
 * Requests per second that serve what routers hold for a unit's models within the time that a backlog may take: engines know nothing of
 * them. 0 where no router can be asked.
 */
export async function heldDemand(unit: PolicyUnit, pods: readonly Pod[], view: RoundView): Promise<number> {
  const queued = await readRouterSignal('queued', unit, pods, view);
  return queued.kind === 'external' ? queued.value / DRAIN_SECONDS : 0;
}

/** Adds to what is asked of replicas a demand that waits for all of them. @param share of the demand that is these replicas'. */
export function withHeld(values: readonly number[], demand: number, share = 1): readonly number[] {
  return demand === 0 ? values : values.map((value) => value + (demand * share) / values.length);
}
