import type { Socket } from 'node:net';
import type { ClientMessage } from '../request';
import type { SimpleHead } from './simple-head';

/** Most of a body that is taken before it is known who sends it. */
const MAX_EARLY_BYTES = 64 * 1024;

/** A request of a simple connection, as the pipeline reads those of Node's own server. */
export class SimpleRequest implements ClientMessage {
  readonly method: string;
  readonly url: string;
  readonly httpVersion = '1.1';
  readonly headers: ClientMessage['headers'];
  readonly rawHeaders: string[];
  private left: number;
  /** Came before anybody asked for it. */
  private early: Buffer[] | undefined;
  private earlyBytes = 0;
  private isGivenUp = false;
  private onData: ((chunk: Buffer) => void) | undefined;
  private onEnd: (() => void) | undefined;

  constructor(
    head: SimpleHead,
    readonly socket: Socket,
  ) {
    this.method = head.method;
    this.url = head.url;
    this.headers = head.headers;
    this.rawHeaders = head.rawHeaders;
    this.left = head.bodyBytes;
  }

  /** All of it came. */
  get complete(): boolean {
    return this.left === 0;
  }

  /** Bytes of the body that are to come. */
  get bytesLeft(): number {
    return this.left;
  }

  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(event: 'data' | 'end', listener: (chunk: Buffer) => void): unknown {
    if (event === 'data') this.onData = listener;
    else {
      this.onEnd = listener as () => void;
      this.deliver();
    }
    return this;
  }

  pause(): unknown {
    this.isGivenUp = true;
    return this.socket.pause();
  }

  isPaused(): boolean {
    return this.isGivenUp;
  }

  /** Takes a part of the body. @param chunk at most `bytesLeft` long. */
  push(chunk: Buffer): void {
    this.left -= chunk.length;
    if (this.onEnd === undefined) {
      this.early ??= [];
      this.early.push(chunk);
      this.earlyBytes += chunk.length;
      if (this.earlyBytes > MAX_EARLY_BYTES) this.socket.pause();
      return;
    }
    this.onData?.(chunk);
    if (this.left === 0) this.onEnd();
  }

  private deliver(): void {
    const { early } = this;
    if (early !== undefined) {
      this.early = undefined;
      this.earlyBytes = 0;
      for (const chunk of early) this.onData?.(chunk);
      this.socket.resume();
    }
    if (this.left === 0) this.onEnd?.();
  }
}
