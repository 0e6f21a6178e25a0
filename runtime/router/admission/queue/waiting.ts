import type { AttemptSource } from '../../relay/attempt-source';
import type { Deadline } from '../../relay/deadline-wheel';
import type { MatchedServer } from '../../request';
import type { Arrival } from './arrival';
import type { Waiter } from './fair-queue';
import type { PriorityClass } from './priority-classes';
import type { QueueLane } from './queue-lane';
import type { Turn } from './turns';

/** A request that waits, or is asked whether it has to. */
export class Waiting implements Waiter {
  readonly rank: number;
  readonly user: string;
  readonly account: string;
  readonly boostedAtMs: number | undefined;
  readonly bytes: number;
  readonly tokens: number;
  /** Since when it waits, and until when. */
  sinceMs = 0;
  deadline: Deadline | undefined;
  /** It waits for pods that are to wake. */
  isHeld = false;
  private settle: { resolve(source: AttemptSource): void; reject(error: unknown): void } | undefined;

  constructor(
    readonly arrival: Arrival,
    /** As it was drawn first, or matched again after its route changed. */
    public matched: MatchedServer,
    public path: QueueLane,
    readonly priority: PriorityClass,
    readonly turn: Turn,
    readonly order: number,
  ) {
    this.rank = priority.rank;
    this.user = turn.user;
    this.account = turn.account;
    this.boostedAtMs = turn.boostedAtMs;
    this.bytes = arrival.request.body.length;
    this.tokens = arrival.request.parsed.promptTokens;
  }

  get lane(): string {
    return this.path.key;
  }

  /** Its turn, or its end. */
  outcome(): Promise<AttemptSource> {
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
    });
  }

  goes(source: AttemptSource): void {
    this.settle?.resolve(source);
  }

  ends(error: unknown): void {
    this.settle?.reject(error);
  }
}
