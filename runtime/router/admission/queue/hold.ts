import type { QueueConfig } from '../../../../src/config/queue-config';
import type { Clock, Timer } from '../../../lib/clock';
import type { Rooms } from '../../endpoints/pod-rooms';
import { documentAsEvent } from '../../relay/stream-error';
import type { QueueLane } from './queue-lane';
import { RENEW_MS, type Sleepers } from './sleepers';
import type { Waiting } from './waiting';

export interface HoldOptions {
  readonly sleepers: Sleepers;
  readonly clock: Clock;
  readonly config: QueueConfig['wake'];
  readonly rooms: Rooms;
  /** Lanes in which somebody waits. */
  readonly lanes: () => Iterable<QueueLane>;
  /** Called after each look at what sleeps: it may have gone, or been deleted. */
  readonly onRenewed: () => void;
}

const STREAM_HEADERS = [
  'content-type',
  'text/event-stream; charset=utf-8',
  'cache-control',
  'no-cache',
  'x-accel-buffering',
  'no',
];

/**
 * Holds requests for pods that are to wake: without a word first; after that a stream gets its head and comments, so that nobody between
 * takes it for dead. The wake leases are renewed for as long as somebody waits.
 */
export class Hold {
  private timer: Timer | undefined;

  constructor(private readonly options: HoldOptions) {}

  get silentMs(): number {
    return this.options.config.silentMs;
  }

  canWake(server: string): boolean {
    return this.options.sleepers.canWake(server);
  }

  signal(server: string): void {
    this.options.sleepers.signal(server);
  }

  /** Somebody is held. */
  begin(): void {
    this.timer ??= this.options.clock.after(RENEW_MS, () => this.renew());
  }

  /**
   * The time without a word, or from one comment to the next, is over.
   *
   * @returns whether the request is held further; otherwise its client is told.
   */
  goesOn({ arrival, sinceMs, deadline }: Waiting, isAsleep: boolean): boolean {
    const { clock, config } = this.options;
    const { incoming, request } = arrival;
    const { answer } = incoming;
    const { head, parsed } = request;
    const isOver = clock.monotonic() - sinceMs >= config.maxMs;
    if (isOver || !parsed.streams || head.api.streamEnd === 'none') return false;
    if (!answer.isPromised) {
      if (!isAsleep) return false;
      answer.promise([...STREAM_HEADERS], (document) => documentAsEvent(document, head.api));
    }
    answer.comment('waiting for a pod of the model');
    deadline!.set(config.commentMs);
    return true;
  }

  expectedMs({ servers }: QueueLane): number {
    return Math.min(...servers.map((server) => this.options.sleepers.expectedMs(server)));
  }

  /** A held request went on: pods of its lane are there. */
  over({ servers }: QueueLane): void {
    for (const server of servers) if (this.options.rooms.state(server) !== 'nobody') this.options.sleepers.woke(server);
  }

  /** Nobody waits in a lane any more. */
  left({ servers }: QueueLane): void {
    for (const server of servers) this.options.sleepers.forget(server);
  }

  private renew(): void {
    this.timer = undefined;
    const { lanes, rooms, onRenewed } = this.options;
    let isAnyHeld = false;
    for (const { servers } of lanes()) {
      for (const server of servers) {
        if (rooms.state(server) !== 'nobody') continue;
        isAnyHeld = true;
        this.signal(server);
      }
    }
    if (!isAnyHeld) return;
    this.begin();
    onRenewed();
  }
}
