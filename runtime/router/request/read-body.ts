import { RouterError } from '../errors';
import type { Deadline, DeadlineWheel } from '../relay/deadline-wheel';
import type { ClientMessage, IncomingRequest } from '../request';
import type { Reservations } from '../reservations';
import type { BodyBudget } from './body-budget';

export interface BodyLimits {
  readonly bodyBytes: number;
  readonly requestBodyMs: number;
}

/** Chunked bodies grow in steps of at least this many bytes, each taken from the budget before it is filled. */
const FIRST_STEP_BYTES = 16 * 1024;

/**
 * Reads a request's body into memory: allocated once when its length is announced, doubled otherwise. The budget that it takes is
 * given back when the request is over, since a further attempt or the prefix index may need the bytes until then.
 *
 * @throws RouterError `body_too_large`, `body_budget`, `body_timeout`, `client_closed`.
 */
export function readBody(
  incoming: Pick<IncomingRequest, 'message' | 'answer'>,
  limits: BodyLimits,
  budget: BodyBudget,
  wheel: DeadlineWheel,
  reservations: Reservations,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    new BodyReader(incoming, limits, budget, wheel, reservations, resolve, reject).start();
  });
}

class BodyReader {
  private readonly message: ClientMessage;
  private readonly length: number | undefined;
  private readonly deadline: Deadline;
  private buffer: Buffer | undefined;
  private filled = 0;
  private isOver = false;

  constructor(
    private readonly incoming: Pick<IncomingRequest, 'message' | 'answer'>,
    private readonly limits: BodyLimits,
    private readonly budget: BodyBudget,
    wheel: DeadlineWheel,
    private readonly reservations: Reservations,
    private readonly resolve: (body: Buffer) => void,
    private readonly reject: (error: RouterError) => void,
  ) {
    this.message = incoming.message;
    const announced = this.message.headers['content-length'];
    this.length = announced === undefined ? undefined : Number(announced);
    this.deadline = wheel.deadline(() =>
      this.fail(new RouterError('body_timeout', `the body did not arrive in ${limits.requestBodyMs} ms`)),
    );
  }

  start(): void {
    if (this.length !== undefined) {
      if (this.length > this.limits.bodyBytes) {
        this.fail(this.tooLarge());
        return;
      }
      if (!this.take(this.length)) return;
    }
    if (this.incoming.answer.isClosed) {
      this.onLeave();
      return;
    }
    this.deadline.set(this.limits.requestBodyMs);
    this.incoming.answer.watch(() => this.onLeave());
    this.message.on('data', (chunk: Buffer) => this.onData(chunk));
    this.message.on('end', () => this.onEnd());
  }

  private onData(chunk: Buffer): void {
    if (this.isOver) return;
    if (this.length !== undefined) {
      // A whole body in one chunk needs no copy: the chunk is the parser's own slice and nobody else writes to it.
      this.buffer ??= chunk.length === this.length ? chunk : Buffer.allocUnsafeSlow(this.length);
      if (this.buffer !== chunk) chunk.copy(this.buffer, this.filled);
      this.filled += chunk.length;
      return;
    }
    const wanted = this.filled + chunk.length;
    if (wanted > this.limits.bodyBytes) {
      this.fail(this.tooLarge());
      return;
    }
    const have = this.buffer?.length ?? 0;
    if (wanted > have) {
      const size = Math.min(this.limits.bodyBytes, Math.max(FIRST_STEP_BYTES, wanted, 2 * have));
      if (!this.take(size - have)) return;
      const larger = Buffer.allocUnsafeSlow(size);
      this.buffer?.copy(larger, 0, 0, this.filled);
      this.buffer = larger;
    }
    chunk.copy(this.buffer!, this.filled);
    this.filled = wanted;
  }

  private onEnd(): void {
    if (this.isOver) return;
    this.finish();
    const body = this.buffer ?? Buffer.alloc(0);
    this.resolve(body.length === this.filled ? body : body.subarray(0, this.filled));
  }

  private onLeave(): void {
    this.fail(new RouterError('client_closed', 'the client left before its body was complete'));
  }

  private take(bytes: number): boolean {
    if (this.budget.take(bytes, this.reservations)) return true;
    this.fail(new RouterError('body_budget', 'too many request bodies are held in memory'));
    return false;
  }

  private tooLarge(): RouterError {
    return new RouterError('body_too_large', `the body is larger than ${this.limits.bodyBytes} bytes`);
  }

  private fail(error: RouterError): void {
    if (this.isOver) return;
    this.finish();
    this.message.pause();
    this.reject(error);
  }

  private finish(): void {
    this.isOver = true;
    this.deadline.clear();
    this.incoming.answer.watch(undefined);
  }
}
