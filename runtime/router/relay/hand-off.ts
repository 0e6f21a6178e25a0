import type { ExchangeOutcome } from './exchange-outcome';
import type { Underway } from './underway';

/** The leg of a hand-off whose answer the client gets. */
export interface DecodeLeg {
  /**
   * @param firstByteMs from sending to the head of the answer; 0: no limit.
   * @param onBegan called when the first part of the answer is about to go to the client.
   */
  send(body: Buffer, firstByteMs: number, onBegan: () => void): Promise<ExchangeOutcome>;
  /** Ends it; the client hears of it only where a part of the answer has gone to it. */
  giveUp(code: 'upstream_timeout' | 'shutting_down', reason: string): void;
}

/** An attempt that takes two pods. */
export interface HandOff extends Underway {
  /** Name of the pod that prefills. */
  readonly prefillPod: string;
  /** Goes through it, once. Never rejects. */
  run(decode: DecodeLeg): Promise<ExchangeOutcome>;
  /** After it ran: ids of endpoints that the request must not use again, and of those to use only where there is nobody else. */
  readonly failed: readonly string[];
  readonly doubted: readonly string[];
}
