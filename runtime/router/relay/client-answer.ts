import type { Clock } from '../../lib/clock';
import { atEndOfTurn, type HeldWrite } from '../../lib/end-of-turn';

/** Where an exchange puts an answer: the client itself, or what translates for it. */
export type AnswerSink = Pick<ClientAnswer, 'begin' | 'whole' | 'write' | 'onDrain' | 'end' | 'cut'>;

/** What an answer's bytes go through. */
interface WriteGate {
  /** Bytes that the client's side did not take yet. */
  readonly writableLength: number;
  /** Holds back what is written until `uncork`. */
  cork(): void;
  uncork(): void;
}

/** How long the end of an answer may lie unread. */
export interface UnreadLimit {
  readonly clock: Clock;
  /** 0: for ever. */
  readonly unreadMs: number;
}

/** What an answer is written to, whichever version of HTTP the client speaks. */
export interface ClientResponse {
  readonly headersSent: boolean;
  /** The connection is gone, or the answer is complete. */
  readonly destroyed: boolean;
  /** What its bytes go through; null when it has none. */
  readonly socket: WriteGate | null;
  on(event: 'close' | 'drain' | 'socket', listener: () => void): unknown;
  /** @param headers name, value, name, value. */
  writeHead(status: number, headers: string[]): unknown;
  /** @returns false until the next `drain`. */
  write(chunk: Buffer | string): boolean;
  end(chunk?: Buffer | string): unknown;
  end(chunk: string, encoding: BufferEncoding): unknown;
  destroy(): unknown;
}

/** Bodies up to this size are copied, which costs less than a second buffer on the way to the socket. */
const JOINED_BYTES = 16 * 1024;

/** The answer to one client: its head is sent at most once, and only when it is sure. After the client left, nothing is written. */
export class ClientAnswer implements HeldWrite {
  private onLeave: (() => void) | undefined;
  private promised: ((document: string) => string) | undefined;
  private rateLimits: readonly string[] | undefined;
  private last: Buffer | undefined;
  private gate: WriteGate | undefined;
  private hasEnded = false;
  private isLimited = false;

  /**
   * @param ownHeaders headers of the router's own on every answer, as name, value, name, value.
   * @param unread absent: for ever.
   */
  constructor(
    private readonly response: ClientResponse,
    private readonly ownHeaders: string[],
    private readonly unread?: UnreadLimit,
  ) {
    response.on('close', () => this.onLeave?.());
  }

  get isBegun(): boolean {
    return this.response.headersSent && this.promised === undefined;
  }

  /** The client has the head of a stream of which nothing is known yet. */
  get isPromised(): boolean {
    return this.promised !== undefined;
  }

  /**
   * Begins a stream before anything is known of it, for a client that waits long. The next head is then dropped, and a whole answer, which
   * can only be an error, becomes an event.
   *
   * @param asEvent how the document of an error is told in the stream.
   */
  promise(headers: string[], asEvent: (document: string) => string): void {
    this.begin(200, headers);
    this.promised = asEvent;
  }

  /** A sign of life in a stream that was promised. */
  comment(text: string): void {
    if (!this.isClosed) this.response.write(`: ${text}\n\n`);
  }

  /** The connection is gone, or the answer is complete. */
  get isClosed(): boolean {
    return this.response.destroyed;
  }

  /** Replaces what is called when the client's connection ends or the answer is complete. */
  watch(onLeave: (() => void) | undefined): void {
    this.onLeave = onLeave;
  }

  /** Adds a header to an answer that has not begun. */
  addHeader(name: string, value: string): void {
    this.ownHeaders.push(name, value);
  }

  /** Says what the client may still use. Whatever an upstream says of its own limits is then none of the client's business. */
  setRateLimits(headers: readonly string[]): void {
    this.rateLimits = headers;
  }

  /** @param headers name, value, name, value; they become the answer's. */
  begin(status: number, headers: string[]): void {
    if (this.isClosed) return;
    if (this.promised !== undefined) {
      this.promised = undefined;
      return;
    }
    if (this.rateLimits !== undefined) headers = [...withoutRateLimits(headers), ...this.rateLimits];
    headers.push(...this.ownHeaders);
    this.response.writeHead(status, headers);
  }

  /** Sends a whole answer in one piece. */
  whole(status: number, headers: string[], body: Buffer): void {
    if (this.isClosed) return;
    if (this.promised !== undefined) {
      this.response.end(this.promised(body.toString()));
      this.promised = undefined;
      return;
    }
    headers.push('content-length', String(body.length));
    this.begin(status, headers);
    this.last = body;
    atEndOfTurn(this);
  }

  /** Writes what was held in this turn. */
  flush(): void {
    this.gate?.uncork();
    this.gate = undefined;
    const body = this.last;
    if (body !== undefined) {
      this.last = undefined;
      // As text it is sent in one piece with its head.
      if (body.length <= JOINED_BYTES) this.response.end(body.toString('latin1'), 'latin1');
      else this.response.end(body);
      this.hasEnded = true;
    }
    if (this.hasEnded) this.limitUnread();
  }

  /**
   * A client that never reads must not hold the connection, and what is written to it, for ever. Node's own time-out of a socket would
   * begin anew with whatever such a client sends.
   */
  private limitUnread(): void {
    const { socket } = this.response;
    if (this.unread === undefined || this.unread.unreadMs === 0 || this.isLimited || this.isClosed) return;
    // An answer that waits for those before it on its connection is looked at when it is its turn.
    if (socket === null) this.response.on('socket', () => atEndOfTurn(this));
    else if (socket.writableLength > 0) {
      this.isLimited = true;
      const timer = this.unread.clock.after(this.unread.unreadMs, () => this.response.destroy());
      this.response.on('close', () => timer.cancel());
    }
  }

  /** @returns false when the client does not keep up; `onDrain` says when it does again. */
  write(bytes: Buffer): boolean {
    if (this.isClosed) return true;
    this.hold();
    return this.response.write(bytes);
  }

  /** Keeps what is written from now on until the turn ends. */
  private hold(): void {
    if (this.gate !== undefined || this.response.socket === null) return;
    this.gate = this.response.socket;
    this.gate.cork();
    atEndOfTurn(this);
  }

  onDrain(listener: () => void): void {
    this.response.on('drain', listener);
  }

  end(last?: string): void {
    if (this.isClosed) return;
    if (last === undefined) this.response.end();
    else this.response.end(last);
    this.hasEnded = true;
    // What is held until the turn ends is no sign of a client that does not read.
    if (this.gate === undefined) this.limitUnread();
  }

  /** Ends an answer so that the client sees that a part is missing. */
  cut(): void {
    this.response.destroy();
  }
}

const RATE_LIMITS = ['x-ratelimit-', 'anthropic-ratelimit-'] as const;

function withoutRateLimits(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    if (!RATE_LIMITS.some((prefix) => name.startsWith(prefix))) kept.push(name, headers[index + 1]!);
  }
  return kept;
}
