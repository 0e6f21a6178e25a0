import type { Pod } from '../../../src/api/pod';
import { POD_DELETION_COST } from '../../../src/expand/victims';
import { Annotations } from '../../../src/labels';
import type { Pods } from '../../cluster/cluster';
import type { Clock } from '../../lib/clock';

/** How long routers get to see that a pod is drained, and requests that they had sent by then to reach the engine's page. */
const SETTLE_MS = 2_000;

/** Deletion cost of a pod that is to go; unmarked ones cost 0. */
const GOES_FIRST = '-1000';

/**
 * Takes pods out of routing before their replicas go, so that no request is on its way to an engine that ends. The marks are on the pods,
 * so that another leader finds them; pods that somebody else drains are left alone.
 */
export class Drain {
  constructor(
    private readonly pods: Pods,
    private readonly clock: Clock,
  ) {}

  /**
   * Marks those pods that are not yet.
   *
   * @returns `over` when all were out of routing for long enough before this call, `failed` when one could not be marked.
   */
  async advance(pods: readonly Pod[]): Promise<'over' | 'under way' | 'failed'> {
    const now = this.clock.now();
    const states = await Promise.all(
      pods.map(async (pod) => {
        if (isForeign(pod)) return 'over';
        const sinceMs = Date.parse(pod.metadata.annotations?.[Annotations.drainedAt] ?? '');
        if (!Number.isNaN(sinceMs)) return now - sinceMs >= SETTLE_MS ? 'over' : 'under way';
        const outcome = await this.mark(pod, {
          [Annotations.drain]: 'true',
          [Annotations.drainedAt]: new Date(now).toISOString(),
          [POD_DELETION_COST]: GOES_FIRST,
        });
        if (outcome.kind === 'gone') return 'over';
        return outcome.kind === 'applied' || outcome.kind === 'unchanged' || outcome.kind === 'conflict' ? 'under way' : 'failed';
      }),
    );
    return (['failed', 'under way'] as const).find((state) => states.includes(state)) ?? 'over';
  }

  /** Whether streams of a pod that was marked here have had as long as they may. */
  isOverdue(pod: Pod, timeoutMs: number): boolean {
    const sinceMs = Date.parse(pod.metadata.annotations?.[Annotations.drainedAt] ?? '');
    return !Number.isNaN(sinceMs) && this.clock.now() - sinceMs >= timeoutMs;
  }

  /** Puts pods back into routing that were marked here. */
  async undo(pods: readonly Pod[]): Promise<void> {
    const marked = pods.filter(isMarkedHere);
    await Promise.all(marked.map((pod) => this.mark(pod, UNMARKED)));
  }

  private mark(pod: Pod, annotations: Readonly<Record<string, string | null>>): ReturnType<Pods['mark']> {
    const { namespace = 'default', name, uid = '' } = pod.metadata;
    return this.pods.mark(namespace, name, uid, annotations);
  }
}

const UNMARKED = { [Annotations.drain]: null, [Annotations.drainedAt]: null, [POD_DELETION_COST]: null };

function isMarkedHere({ metadata }: Pod): boolean {
  return metadata.annotations?.[Annotations.drainedAt] !== undefined;
}

function isForeign(pod: Pod): boolean {
  const mark = pod.metadata.annotations?.[Annotations.drain];
  return mark !== undefined && mark !== 'false' && !isMarkedHere(pod);
}
