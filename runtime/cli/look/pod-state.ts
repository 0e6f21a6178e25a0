import type { Condition } from '../../../src/api/meta';
import { isPodReady, type Pod } from '../../../src/api/pod';
import { Annotations } from '../../../src/labels';

/** A pod as kubectl's list shows it, and in a sentence why it is not ready. */
export interface PodState {
  readonly isReady: boolean;
  /** Containers that are ready, and all. */
  readonly containers: string;
  /** One word, such as `Running` or `CrashLoopBackOff`. */
  readonly status: string;
  readonly restarts: number;
  /** Undefined for a pod that is ready, or of which nobody says more. */
  readonly why?: string;
}

interface Waiting {
  readonly reason?: string;
  readonly message?: string;
}

export function podState(pod: Pod): PodState {
  const { phase = 'Pending', conditions = [], containerStatuses = [] } = pod.status ?? {};
  const isReady = isPodReady(pod);
  const ready =
    containerStatuses.length === 0
      ? isReady
        ? pod.spec.containers.length
        : 0
      : containerStatuses.filter((each) => each.ready).length;
  const waiting = containerStatuses.flatMap(
    ({ state }) => [state?.waiting, state?.terminated].filter((each) => each !== undefined) as Waiting[],
  )[0];
  const unscheduled = (conditions as readonly Partial<Condition>[]).find(
    ({ type, status }) => type === 'PodScheduled' && status === 'False',
  );
  const isDrained = pod.metadata.annotations?.[Annotations.drain] !== undefined;
  const status =
    pod.metadata.deletionTimestamp !== undefined
      ? 'Terminating'
      : (waiting?.reason ?? (isDrained && isReady ? 'Draining' : phase));
  const why = isReady
    ? undefined
    : [
        unscheduled?.message ??
          waiting?.message ??
          (phase === 'Running' ? 'it runs, and its readiness probe fails or has not passed yet' : undefined),
      ][0];
  return {
    isReady,
    containers: `${ready}/${pod.spec.containers.length}`,
    status,
    restarts: containerStatuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
    ...(why !== undefined && { why }),
  };
}
