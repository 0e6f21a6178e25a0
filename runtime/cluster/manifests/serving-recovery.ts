import type { ModelServing } from '../../../src/api/model-serving';
import { isPodReady, type Pod } from '../../../src/api/pod';
import { servingPosition } from '../../../src/expand/expand-model-serving';
import { isEnding } from './workload-status';

export interface Recovery {
  readonly remove: readonly Pod[];
  /** When a pod that is in its grace period has to be looked at again. */
  readonly againAfterMs?: number;
}

/**
 * What Kthena removes after a container of a pod had to be restarted and was not ready again within `restartGracePeriodSeconds`: the
 * whole serving group, or the role instance, as `recoveryPolicy` says. Under `None` the pod is left to restart in place; Kthena itself
 * would delete it and never make it again.
 */
export function servingRecovery(serving: ModelServing, pods: readonly Pod[], nowMs: number): Recovery {
  const { recoveryPolicy, template } = serving.spec;
  if (recoveryPolicy === 'None') return { remove: [] };
  const graceMs = (template.restartGracePeriodSeconds ?? 0) * 1000;
  const remove = new Set<Pod>();
  let againAfterMs = Number.POSITIVE_INFINITY;
  for (const pod of pods) {
    if (isEnding(pod) || !hasRestarted(pod) || isPodReady(pod)) continue;
    const leftMs = unreadySinceMs(pod, nowMs) + graceMs - nowMs;
    if (leftMs > 0) againAfterMs = Math.min(againAfterMs, leftMs);
    else for (const member of unitOf(pod)) if (!isEnding(member)) remove.add(member);
  }
  return { remove: [...remove], ...(Number.isFinite(againAfterMs) ? { againAfterMs } : {}) };

  function unitOf(pod: Pod): readonly Pod[] {
    const at = servingPosition(serving, pod);
    return pods.filter((other) => {
      const position = servingPosition(serving, other);
      if (position === undefined || at === undefined || position.group !== at.group) return false;
      return recoveryPolicy === 'ServingGroupRecreate' || (position.role === at.role && position.instance === at.instance);
    });
  }
}

function hasRestarted(pod: Pod): boolean {
  return (pod.status?.containerStatuses ?? []).some(({ restartCount }) => restartCount > 0);
}

function unreadySinceMs(pod: Pod, nowMs: number): number {
  const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready') as
    | { readonly lastTransitionTime?: string }
    | undefined;
  const sinceMs = Date.parse(ready?.lastTransitionTime ?? '');
  return Number.isNaN(sinceMs) ? nowMs : sinceMs;
}
