import type { TokenUsage } from '../scheduling/attempts';

/** What an answer used, as far as it is known. */
export interface Usage {
  readonly usage?: TokenUsage;
  /** Events with content that a stream brought which did not tell its usage. */
  readonly streamedEvents?: number;
}

/** How one attempt at one endpoint ended, as the relay sees it. */
export type ExchangeOutcome =
  /** The whole answer reached the client. */
  | ({ readonly kind: 'completed' } & Usage)
  /** The endpoint answered with an error before anything reached the client. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly headers: string[];
      readonly body: Buffer;
      /** The engine takes no new work because it is shutting down. */
      readonly isDraining: boolean;
      /** The engine behind the HTTP server is dead. */
      readonly isDead: boolean;
    }
  /** No usable answer, and nothing reached the client. */
  | {
      readonly kind: 'failed';
      /** `connect`: the body was not sent. */
      readonly phase: 'connect' | 'sent';
      readonly reason: string;
      readonly isTimeout: boolean;
      /** The connection broke. */
      readonly isReset: boolean;
      /** It had been used before and broke before any byte came: the engine may just have closed it as idle. */
      readonly isIdleClose: boolean;
    }
  /** The answer broke off after a part of it reached the client, which was told. */
  | ({ readonly kind: 'lost'; readonly reason: string } & Usage)
  | ({ readonly kind: 'client-left' } & Usage);

/** What engines say when they take no new work: vLLM after SIGTERM with a shutdown timeout. */
const DRAINING = /cannot schedule new futures after shutdown/i;
/** What vLLM's HTTP server says when its engine process died. */
const DEAD = /EngineCore encountered an issue|EngineDeadError|engine is dead/i;

/** Reads an engine's error answer. */
export function refused(status: number, headers: string[], body: Buffer): Extract<ExchangeOutcome, { kind: 'refused' }> {
  const text = status >= 500 ? body.toString('latin1', 0, Math.min(body.length, 4096)) : '';
  return { kind: 'refused', status, headers, body, isDraining: DRAINING.test(text), isDead: DEAD.test(text) };
}
