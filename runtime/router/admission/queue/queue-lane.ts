import type { Rooms } from '../../endpoints/pod-rooms';
import type { MatchedServer } from '../../request';

/** Weight of the newest gap in the mean time between departures. */
const NEWEST_WEIGHT = 0.2;

/** Requests that can go at the same moments: those for one model whose rule has the same ModelServers, or that are bound to one pod. */
export class QueueLane {
  private lastDepartureMs: number | undefined;
  private gapMs: number | undefined;

  private constructor(
    readonly key: string,
    /** What its users share accounts of: what it waits for, whatever the model. */
    readonly pools: string,
    /** `namespace/name`. */
    readonly servers: readonly string[],
    readonly only: string | undefined,
    readonly model: string,
    /** Whether a request may wait for pods that do not exist yet: nobody else of its rule takes it. */
    readonly mayHold: boolean,
  ) {}

  static of(matched: MatchedServer, model: string): QueueLane {
    const only = matched.stateful?.endpointId;
    const namespace = matched.route.metadata.namespace ?? 'default';
    const named = matched.rule.targetModels.flatMap(({ modelServerName, weight }) =>
      modelServerName && weight > 0 ? [`${namespace}/${modelServerName}`] : [],
    );
    // A request that an endpoint's own state binds, or whose target is no longer drawn, has nowhere else to go.
    const isBound = only !== undefined || !named.includes(matched.modelServerKey);
    const servers = isBound ? [matched.modelServerKey] : [...new Set(named)].sort();
    const pools = `${servers.join(' ')} ${only ?? ''}`;
    const hasProvider = matched.rule.targetModels.some((each) => each.externalModelProviderName && each.weight > 0);
    return new QueueLane(`${pools}\n${model}`, pools, servers, only, model, only === undefined && !hasProvider);
  }

  /**
   * `free`: a request may leave, since a pool has room or none has any pod to wait for. `asleep`: none has a pod, and one can be woken.
   *
   * @param canWake whether pods of a ModelServer without ready ones can be waited for.
   */
  state(rooms: Rooms, canWake: ((server: string) => boolean) | undefined): 'free' | 'full' | 'asleep' {
    let isFull = false;
    for (const server of this.servers) {
      const state = rooms.state(server, this.only);
      if (state === 'free') return 'free';
      if (state === 'full') isFull = true;
    }
    if (isFull) return 'full';
    return canWake !== undefined && this.mayHold && this.servers.some(canWake) ? 'asleep' : 'free';
  }

  /** Milliseconds until there is room if nothing is heard of any pod; undefined when only an answer's end makes room. */
  msUntilOpen(rooms: Rooms): number | undefined {
    let least: number | undefined;
    for (const server of this.servers) {
      const ms = rooms.msUntilRoom(server, this.only);
      if (ms !== undefined && (least === undefined || ms < least)) least = ms;
    }
    return least;
  }

  /**
   * How long a request is expected to wait until its own prompt is prefilled: the prompts in front of it at the pace of all pods, after
   * what the least busy pod still has; or, where requests leave more slowly than that, at the pace at which they left lately.
   */
  expectedWaitMs(rooms: Rooms, ahead: { readonly requests: number; readonly tokens: number }): number {
    let backlogMs = Number.POSITIVE_INFINITY;
    let tokensPerSecond = 0;
    for (const server of this.servers) {
      const rate = rooms.prefillTokensPerSecond(server, this.only);
      if (rate === 0) continue;
      tokensPerSecond += rate;
      backlogMs = Math.min(backlogMs, rooms.backlogMs(server, this.only));
    }
    const byWorkMs = tokensPerSecond === 0 ? 0 : backlogMs + (1000 * ahead.tokens) / tokensPerSecond;
    return Math.max(byWorkMs, ahead.requests * (this.gapMs ?? 0));
  }

  /** A request went on. */
  departed(nowMs: number): void {
    if (this.lastDepartureMs !== undefined) {
      const gap = nowMs - this.lastDepartureMs;
      this.gapMs = this.gapMs === undefined ? gap : this.gapMs + NEWEST_WEIGHT * (gap - this.gapMs);
    }
    this.lastDepartureMs = nowMs;
  }
}
