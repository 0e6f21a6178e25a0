import type { Pod, PodStatus } from '../../../src/api/pod';
import { Annotations } from '../../../src/labels';
import { timestamp } from '../object-source';

/** Where a supervised pod is in its life. */
export type PodStage =
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly isReady: boolean }
  | { readonly kind: 'waiting'; readonly reason: 'CrashLoopBackOff' | 'CreateContainerError'; readonly message: string };

export interface PodFacts {
  readonly stage: PodStage;
  readonly restartCount: number;
  readonly podIP?: string;
  /** Container port → port that really listens. */
  readonly ports?: Readonly<Record<number, number>>;
}

/** Status of a pod as a kubelet would write it. Times of conditions that did not change are kept. */
export function podStatus(pod: Pod, facts: PodFacts, nowMs: number): PodStatus {
  const { stage, restartCount, podIP } = facts;
  const now = timestamp(nowMs);
  const isReady = stage.kind === 'running' && stage.isReady;
  const before = new Map((pod.status?.conditions ?? []).map((condition) => [condition.type, condition]));
  const condition = (type: string, isTrue: boolean) => {
    const status = isTrue ? ('True' as const) : ('False' as const);
    const old = before.get(type);
    return old?.status === status ? old : { type, status, lastTransitionTime: now };
  };
  const hasRun = stage.kind === 'running' || restartCount > 0;
  return {
    phase: hasRun && podIP !== undefined ? 'Running' : 'Pending',
    ...(podIP === undefined ? {} : { podIP, podIPs: [{ ip: podIP }] }),
    startTime: pod.status?.startTime ?? now,
    conditions: [
      condition('PodScheduled', true),
      condition('Initialized', true),
      condition('ContainersReady', isReady),
      condition('Ready', isReady),
    ],
    containerStatuses: pod.spec.containers.map(({ name }, index) => ({
      name,
      ready: isReady,
      restartCount,
      state: stateOf(stage, pod, index, now),
    })),
  };
}

function stateOf(stage: PodStage, pod: Pod, index: number, now: string) {
  if (stage.kind === 'starting') return { waiting: { reason: 'ContainerCreating' } };
  if (stage.kind === 'waiting') return { waiting: { reason: stage.reason, message: stage.message } };
  const startedAt = pod.status?.containerStatuses?.[index]?.state?.running?.startedAt ?? now;
  return { running: { startedAt } };
}

/** Annotations of a pod whose ports really are `ports`. */
export function withPortMap(
  annotations: Readonly<Record<string, string>> | undefined,
  ports: Readonly<Record<number, number>> | undefined,
): Readonly<Record<string, string>> | undefined {
  const entries = Object.entries(ports ?? {});
  if (entries.length === 0) {
    if (annotations?.[Annotations.portMap] === undefined) return annotations;
    const { [Annotations.portMap]: _stale, ...rest } = annotations;
    return rest;
  }
  return { ...annotations, [Annotations.portMap]: entries.map(([from, to]) => `${from}=${to}`).join(',') };
}

/** A pod that somebody else started, ready unless its own status says otherwise. */
export function asGivenPod(pod: Pod): Pod {
  const { status } = pod;
  const conditions = status?.conditions ?? [];
  return {
    ...pod,
    status: {
      ...status,
      phase: status?.phase ?? 'Running',
      conditions: conditions.some(({ type }) => type === 'Ready')
        ? conditions
        : [...conditions, { type: 'Ready', status: 'True' }],
    },
  };
}

export function isGivenPod(object: { readonly kind: string }): boolean {
  return object.kind === 'Pod' && ((object as Pod).status?.podIP ?? '') !== '';
}
