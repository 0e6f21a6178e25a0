import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ClientResponse } from '../relay/client-answer';

/** What a response asks of the connection that it is written to. */
export interface ResponseConnection {
  readonly socket: Socket;
  /** Whether another request may follow. */
  readonly mayLast: boolean;
  /** For how long, in seconds. */
  readonly keepAliveSeconds: number;
  /** The response was written and left. @param lasts as the client was told. */
  responseOver(lasts: boolean): void;
}

/** What no value of a head may hold. */
const FORBIDDEN_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** More text than this does not wait for the end of the turn. */
const MAX_HELD_CHARACTERS = 64 * 1024;
/** Longer pieces are not copied into the text that is written. */
const JOINED_BYTES = 16 * 1024;

/** The answer on a simple connection; in its bytes the same as one of Node's own server. */
export class SimpleResponse implements ClientResponse {
  headersSent = false;
  destroyed = false;
  private head = '';
  private isChunked = false;
  private hasBody = true;
  private lasts = true;
  private hasEnded = false;
  private isHeld = false;
  /** Each byte is one character. */
  private text = '';
  private closeListeners: (() => void)[] = [];
  private drainListener: (() => void) | undefined;

  constructor(private readonly connection: ResponseConnection) {}

  /** What its bytes go through. */
  get socket(): this | null {
    return this.destroyed ? null : this;
  }

  /** Bytes that the client's side did not take yet. */
  get writableLength(): number {
    return this.text.length + this.connection.socket.writableLength;
  }

  on(event: 'close' | 'drain' | 'socket', listener: () => void): unknown {
    if (event === 'close') this.closeListeners.push(listener);
    else if (event === 'drain') this.drainListener = listener;
    return this;
  }

  /** Holds back what is written until `uncork`. */
  cork(): void {
    this.isHeld = true;
  }

  uncork(): void {
    this.isHeld = false;
    if (this.text !== '') this.send('');
  }

  writeHead(status: number, headers: readonly string[]): void {
    if (this.headersSent) throw new Error('the head was sent');
    this.lasts = this.connection.mayLast;
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
    let hasDate = false;
    let hasLength = false;
    let saysConnection = false;
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index]!;
      const value = headers[index + 1]!;
      if (FORBIDDEN_IN_VALUE.test(value)) throw new Error(`a value that no header may have: ${name}`);
      head += `${name}: ${value}\r\n`;
      switch (name.toLowerCase()) {
        case 'date':
          hasDate = true;
          break;
        case 'content-length':
          hasLength = true;
          break;
        case 'connection':
          saysConnection = true;
          if (value.toLowerCase() === 'close') this.lasts = false;
      }
    }
    this.hasBody = status !== 204 && status !== 304;
    this.isChunked = this.hasBody && !hasLength;
    if (!hasDate) head += dateLine();
    if (!saysConnection) {
      head += this.lasts
        ? `Connection: keep-alive\r\nKeep-Alive: timeout=${this.connection.keepAliveSeconds}\r\n`
        : 'Connection: close\r\n';
    }
    if (this.isChunked) head += 'Transfer-Encoding: chunked\r\n';
    this.head = `${head}\r\n`;
    this.headersSent = true;
  }

  write(chunk: Buffer | string): boolean {
    return this.put(chunk, 'utf8');
  }

  end(chunk?: Buffer | string, encoding: BufferEncoding = 'utf8'): void {
    if (this.hasEnded || this.destroyed) return;
    if (chunk !== undefined && chunk.length > 0) this.put(chunk, encoding, true);
    this.hasEnded = true;
    this.send(this.isChunked ? '0\r\n\r\n' : '');
    // Not within this call, whose caller has not noted yet that the answer is whole.
    if (this.connection.socket.writableLength === 0) process.nextTick(() => this.over());
    else this.connection.socket.write('', () => this.over());
  }

  destroy(): void {
    this.text = '';
    this.connection.socket.destroy();
  }

  /** The client reads again. */
  drained(): void {
    if (!this.hasEnded) this.drainListener?.();
  }

  /** The connection ended, or the answer was written and left. */
  closed(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    for (const listener of this.closeListeners) listener();
  }

  private over(): void {
    if (this.destroyed) return;
    this.connection.responseOver(this.lasts);
  }

  /** @param isLast more follows at once. @returns false when the client does not keep up. */
  private put(chunk: Buffer | string, encoding: BufferEncoding, isLast = false): boolean {
    if (this.hasEnded || this.destroyed || !this.hasBody) return true;
    if (typeof chunk === 'string' && encoding !== 'latin1') chunk = Buffer.from(chunk, encoding);
    const before = this.isChunked ? `${chunk.length.toString(16)}\r\n` : '';
    const after = this.isChunked ? '\r\n' : '';
    const { socket } = this.connection;
    if (typeof chunk !== 'string' && chunk.length > JOINED_BYTES) {
      socket.cork();
      this.send(before);
      socket.write(chunk);
      this.text = after;
      socket.uncork();
    } else {
      const piece = typeof chunk === 'string' ? chunk : chunk.toString('latin1');
      this.text += before + piece + after;
    }
    if (!isLast && (!this.isHeld || this.text.length > MAX_HELD_CHARACTERS)) this.send('');
    return !socket.writableNeedDrain;
  }

  /** Writes what is held, with the head before it if that was not written. */
  private send(last: string): void {
    const text = this.head + this.text + last;
    this.head = '';
    this.text = '';
    if (text !== '') this.connection.socket.write(text, 'latin1');
  }
}

let dateText = '';
let dateSecond = 0;

/** The field that says when the answer was made, to the second. */
function dateLine(): string {
  const now = Date.now();
  const second = Math.floor(now / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = `Date: ${new Date(now).toUTCString()}\r\n`;
  }
  return dateText;
}
