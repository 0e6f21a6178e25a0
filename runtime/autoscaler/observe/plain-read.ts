import { connect, type Socket } from 'node:net';
import { type AnswerEvents, AnswerParser } from '../../lib/answer-parser';
import { grown, type PageBuffers } from './page-buffers';

/** Why there is no text. */
export interface Failed {
  readonly kind: 'failed';
  readonly reason: string;
}

export type ReadText = { readonly kind: 'text'; readonly text: string } | Failed;

/** Where every connection reads into: a read is looked at before the next one, of whichever connection, begins. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * GETs one text over plain HTTP on a connection of its own. Node's client costs as much again for each page as to connect and read it, and leaves
 * buffers behind that only a collection frees: with 5,000 pods, most of a round's time and memory (`test/bench/autoscaler-scale.bench.ts`).
 */
export class PlainRead implements AnswerEvents {
  private readonly socket: Socket;
  private readonly parser = new AnswerParser(this, false);
  private buffer: Buffer;
  private length = 0;
  private isOver = false;

  /** @param settle told the outcome, once. @param maxBytes what is longer is no page. */
  constructor(
    { hostname, host, port, pathname, search }: URL,
    private readonly buffers: PageBuffers,
    private readonly maxBytes: number,
    private readonly settle: (answer: ReadText) => void,
  ) {
    this.buffer = buffers.take();
    const callback = (count: number): boolean => {
      if (!this.isOver) this.parser.push(READ_BUFFER.subarray(0, count));
      return true;
    };
    const address = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) };
    this.socket = connect({ ...address, noDelay: true, onread: { buffer: READ_BUFFER, callback } });
    this.socket.on('error', ({ code, message }: NodeJS.ErrnoException) =>
      this.end({ kind: 'failed', reason: code === undefined ? message : `failed (${code})` }),
    );
    this.socket.on('end', () => {
      if (!this.isOver) this.parser.close();
    });
    this.socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`, 'latin1');
  }

  /** Gives it up; nothing is told any more. */
  destroy(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.socket.destroy();
    this.buffers.giveBack(this.buffer);
  }

  onHead(status: number): void {
    if (status < 200 || status > 299) this.end({ kind: 'failed', reason: `answered ${status}` });
  }

  onBody(bytes: Buffer): void {
    if (this.isOver) return;
    const length = this.length + bytes.length;
    if (length > this.maxBytes) {
      this.end({ kind: 'failed', reason: `answered more than ${this.maxBytes} bytes` });
      return;
    }
    this.buffer = grown(this.buffer, this.length, length);
    bytes.copy(this.buffer, this.length);
    this.length = length;
  }

  onEnd(): void {
    this.end({ kind: 'text', text: this.buffer.toString('utf8', 0, this.length) });
  }

  onMalformed(what: string): void {
    this.end({ kind: 'failed', reason: `answered what is no HTTP: ${what}` });
  }

  /** The page was whole before it. */
  onSurplus(): void {}

  private end(answer: ReadText): void {
    if (this.isOver) return;
    this.destroy();
    this.settle(answer);
  }
}
