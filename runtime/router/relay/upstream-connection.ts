import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { authority } from '../../../src/expand/pod-address';
import { type AnswerEvents, AnswerParser } from '../../lib/answer-parser';
import { atEndOfTurn, type HeldWrite } from '../../lib/end-of-turn';
import type { AttemptEndpoint } from '../scheduling/attempts';

/**
 * Why a request ended without an answer. `destroyed`: the router gave its connection up; `untrusted`: one side refused the other's
 * certificate, with TLS 1.3 after the request was sent. Nothing broke on the request then.
 */
export interface UpstreamFailure {
  readonly kind: 'connect-timeout' | 'destroyed' | 'untrusted' | 'broken';
  readonly reason: string;
}

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** name, value, name, value; without host, connection and content-length. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** Told how one request to an engine goes. Ends with exactly one of `onComplete` and `onError`, unless the connection is destroyed. */
export interface UpstreamHandler {
  /** The connection stands and the request is about to be sent. */
  onConnect(): void;
  /** @param headers as in `AnswerEvents`. @param resume goes on after `onData` said false. */
  onHeaders(status: number, headers: readonly string[], resume: () => void): void;
  /** @returns false to be told nothing more until `resume`. */
  onData(bytes: Buffer): boolean;
  onComplete(): void;
  onError(failure: UpstreamFailure): void;
}

/** How certificates of https endpoints are judged, and what they are shown. */
export type UpstreamTls = Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized' | 'secureContext' | 'servername'>;

export interface UpstreamConnectionOptions {
  readonly protocol: 'http' | 'https';
  /** In real milliseconds. */
  readonly connectTimeoutMs: number;
  /** How certificates of https endpoints are judged. @default by Node's own authorities */
  readonly tls?: UpstreamTls | undefined;
}

/** Bodies up to this size are sent in one piece with their head: one system call, and one packet on the way. */
const JOINED_BYTES = 16 * 1024;
const READ_BYTES = 64 * 1024;

/** Where every plain connection reads into: a read is looked at before the next one, of whichever connection, begins. */
const READ_BUFFER = Buffer.allocUnsafeSlow(READ_BYTES);

/**
 * A connection to an engine that carries one request at a time. It exists because the relay's cost is mostly that of its two ends: a
 * general client takes about ten microseconds more for each request (`test/bench/router-cpu.bench.ts`).
 */
export class UpstreamConnection implements AnswerEvents, HeldWrite {
  /** When the last answer ended, on the clock of whoever keeps idle connections. */
  idleSinceMs = 0;
  private socket: Socket | undefined;
  private readonly parser = new AnswerParser(this);
  private handler: UpstreamHandler | undefined;
  private state: 'new' | 'connected' | 'gone' = 'new';
  private isPaused = false;
  private isRetired = false;
  private readonly fixedHead: string;
  private readonly resume = (): void => {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.socket?.resume();
  };

  constructor(
    private readonly endpoint: AttemptEndpoint,
    private readonly options: UpstreamConnectionOptions,
  ) {
    this.fixedHead = ` HTTP/1.1\r\nhost: ${authority(endpoint)}\r\nconnection: keep-alive\r\n`;
  }

  /** Whether it stands. */
  get isConnected(): boolean {
    return this.state === 'connected';
  }

  /** Whether it can carry another request: it never will after its end. */
  get isUsable(): boolean {
    return this.state !== 'gone' && this.handler === undefined && !this.isRetired;
  }

  /** Lets it carry no further request: what it was made with is no longer good. */
  retire(): void {
    this.isRetired = true;
  }

  /** Sends a request. Only when no other is under way. */
  dispatch(request: UpstreamRequest, handler: UpstreamHandler): void {
    this.handler = handler;
    this.parser.reset();
    if (this.state === 'connected') this.send(request);
    else this.open(request);
  }

  /** Ends the connection. The handler of a request under way is told nothing more. */
  destroy(): void {
    this.state = 'gone';
    this.handler = undefined;
    this.socket?.destroy();
  }

  /** Ends the connection and tells the handler of a request under way. */
  abort(failure: UpstreamFailure): void {
    const { handler } = this;
    this.destroy();
    handler?.onError(failure);
  }

  onHead(status: number, headers: readonly string[]): void {
    this.handler?.onHeaders(status, headers, this.resume);
  }

  onBody(bytes: Buffer): void {
    if (this.handler?.onData(bytes) !== false || this.state === 'gone') return;
    this.isPaused = true;
    this.socket?.pause();
  }

  onEnd(isReusable: boolean): void {
    const { handler } = this;
    this.handler = undefined;
    if (isReusable) this.resume();
    else this.destroy();
    handler?.onComplete();
  }

  onMalformed(what: string): void {
    this.abort({ kind: 'broken', reason: what });
  }

  onSurplus(): void {
    this.abort({ kind: 'broken', reason: 'bytes after the end of an answer' });
  }

  private open(request: UpstreamRequest): void {
    const { host, port } = this.endpoint;
    const onConnect = (): void => {
      this.socket?.setTimeout(0);
      if (this.state === 'gone') return;
      this.state = 'connected';
      this.send(request);
    };
    const socket = this.options.protocol === 'https' ? this.openTls(onConnect) : this.openPlain(onConnect);
    this.socket = socket;
    socket.setTimeout(this.options.connectTimeoutMs, () =>
      this.abort({ kind: 'connect-timeout', reason: `no connection to ${host}:${port} in time` }),
    );
    socket.on('end', () => this.onClosed());
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code ?? error.message;
      this.abort({ kind: reason.startsWith('ERR_SSL_') ? 'untrusted' : 'broken', reason });
    });
    socket.on('close', () => this.onClosed());
  }

  private openPlain(onConnect: () => void): Socket {
    const { host, port } = this.endpoint;
    const onread = {
      buffer: READ_BUFFER,
      callback: (bytes: number): boolean => {
        this.received(READ_BUFFER.subarray(0, bytes));
        return !this.isPaused;
      },
    };
    return connect({ host, port, noDelay: true, onread }, onConnect);
  }

  private openTls(onConnect: () => void): Socket {
    const { host, port } = this.endpoint;
    const options = { host, port, servername: serverName(host), ALPNProtocols: ['http/1.1'], ...this.options.tls };
    const socket = connectTls(options, onConnect);
    socket.setNoDelay(true);
    socket.on('data', (bytes: Buffer) => this.received(bytes));
    return socket;
  }

  private received(bytes: Buffer): void {
    if (this.state === 'gone') return;
    // An idle engine has nothing to say: what comes now belongs to no request.
    if (this.handler === undefined) this.destroy();
    else this.parser.push(bytes);
  }

  /** Writes the request that was sent in this turn. */
  flush(): void {
    this.socket?.uncork();
  }

  private onClosed(): void {
    if (this.state !== 'gone' && this.handler !== undefined) this.parser.close();
    this.abort({ kind: 'broken', reason: 'the connection was closed' });
  }

  private send({ method, target, headers, body }: UpstreamRequest): void {
    const { handler, socket } = this;
    if (handler === undefined || socket === undefined) return;
    let head = `${method} ${target}`;
    let isClean = isOneLine(head);
    head += this.fixedHead;
    for (let index = 0; index < headers.length; index += 2) {
      const value = headers[index + 1]!;
      isClean &&= isOneLine(value);
      head += `${headers[index]}: ${value}\r\n`;
    }
    if (!isClean) {
      this.abort({ kind: 'broken', reason: 'a header that cannot be sent' });
      return;
    }
    handler.onConnect();
    if (body.length > 0 || method === 'POST') head += `content-length: ${body.length}\r\n`;
    head += '\r\n';
    socket.cork();
    atEndOfTurn(this);
    if (body.length > JOINED_BYTES) {
      socket.write(head, 'latin1');
      socket.write(body);
      return;
    }
    const joined = Buffer.allocUnsafe(head.length + body.length);
    joined.write(head, 0, 'latin1');
    body.copy(joined, head.length);
    socket.write(joined);
  }
}

/** Whether text can stand in a head as it is: a line end in it would begin a header, or a request, of somebody else's. */
function isOneLine(text: string): boolean {
  return !/[^\t\x20-\x7e\x80-\xff]/.test(text);
}

/** Names only: an address is no server name. */
function serverName(host: string): string {
  return /^[\d.]+$|:/.test(host) ? '' : host;
}
