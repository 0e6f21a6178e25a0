import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type ListMember, MemberList } from '../../lib/member-list';
import { readSimpleHead } from './simple-head';
import { SimpleRequest } from './simple-request';
import { type ResponseConnection, SimpleResponse } from './simple-response';

export interface SimpleConnectionsOptions {
  readonly server: Server;
  /** Serves a request whose head was read. */
  readonly serve: (request: SimpleRequest, response: SimpleResponse) => void;
  /** Whether requests to a path need the general server. */
  readonly isElsewhere: (url: string) => boolean;
  /** Takes a connection over, with what was read of it given back. */
  readonly serveByNode: (socket: Socket) => void;
  /** Tells a client that its request is late, and ends its side of the connection. */
  readonly refuseLate: (socket: Socket) => void;
  /** How long a connection may stay idle between requests. */
  readonly keepAliveMs: number;
  /** How long until the first bytes of its first request; 0: for ever. */
  readonly requestHeadMs: number;
}

/** Between looks for connections that are idle for too long. */
const SWEEP_MS = 1_000;

/**
 * Connections whose requests are read here, and not by Node's own server, which costs a fifth of a router's time for each
 * (`test/bench/router-bodies.bench.ts`): as long as each head is simple. The first that is not takes its connection to Node's server for
 * good, before a byte of it was judged here.
 */
export class SimpleConnections {
  readonly keepAliveSeconds: number;
  /** Looks so far. */
  sweeps = 0;
  private readonly open = new MemberList<SimpleConnection>();
  private sweeper: NodeJS.Timeout | undefined;

  constructor(readonly options: SimpleConnectionsOptions) {
    this.keepAliveSeconds = Math.floor(options.keepAliveMs / 1000);
  }

  adopt(socket: Socket): void {
    this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS).unref();
    this.open.add(new SimpleConnection(socket, this));
  }

  /** Ends connections that wait for a request. */
  closeIdle(): void {
    this.open.visitAll((connection) => {
      if (connection.isIdle) connection.socket.destroy();
    });
  }

  closeAll(): void {
    this.open.visitAll(({ socket }) => socket.destroy());
  }

  /** A connection ended, or is Node's. */
  forget(connection: SimpleConnection): void {
    this.open.remove(connection);
    if (this.open.size > 0) return;
    clearInterval(this.sweeper);
    this.sweeper = undefined;
  }

  private sweep(): void {
    this.sweeps += 1;
    const { keepAliveMs, requestHeadMs, refuseLate } = this.options;
    this.open.visitAll((connection) => {
      if (!connection.isIdle) return;
      const idleMs = (this.sweeps - connection.idleSince) * SWEEP_MS;
      if (connection.hasServed) {
        if (idleMs > keepAliveMs) connection.socket.destroy();
      } else if (requestHeadMs > 0 && idleMs > requestHeadMs) {
        if (connection.socket.writableEnded) connection.socket.destroy();
        else refuseLate(connection.socket);
      }
    });
  }
}

/** Longest that a client may send ahead of the answer that it waits for. */
const MAX_AHEAD_BYTES = 64 * 1024;

/** One connection, with one request at a time. */
class SimpleConnection implements ListMember, ResponseConnection {
  listIndex = -1;
  /** Look after which it began to wait for a request. */
  idleSince: number;
  hasServed = false;
  private request: SimpleRequest | undefined;
  private response: SimpleResponse | undefined;
  /** What came ahead of the present answer. */
  private ahead: Buffer | undefined;
  private isAheadFull = false;
  private readonly onData = (bytes: Buffer): void => this.received(bytes);
  private readonly onEnd = (): void => void this.socket.end();
  private readonly onError = (): void => void this.socket.destroy();
  private readonly onDrain = (): void => this.response?.drained();
  private readonly onClose = (): void => this.closed();

  constructor(
    readonly socket: Socket,
    private readonly owner: SimpleConnections,
  ) {
    this.idleSince = owner.sweeps;
    socket.on('data', this.onData);
    socket.on('end', this.onEnd);
    socket.on('error', this.onError);
    socket.on('drain', this.onDrain);
    socket.on('close', this.onClose);
  }

  get isIdle(): boolean {
    return this.response === undefined;
  }

  get keepAliveSeconds(): number {
    return this.owner.keepAliveSeconds;
  }

  get mayLast(): boolean {
    return this.owner.options.server.listening;
  }

  private release(): void {
    const { socket } = this;
    socket.off('data', this.onData);
    socket.off('end', this.onEnd);
    socket.off('error', this.onError);
    socket.off('drain', this.onDrain);
    socket.off('close', this.onClose);
    this.owner.forget(this);
  }

  responseOver(lasts: boolean): void {
    const { response, request } = this;
    this.request = undefined;
    this.response = undefined;
    response?.closed();
    if (!lasts || !this.mayLast || request?.complete !== true || request.isPaused()) {
      this.socket.destroySoon();
      return;
    }
    this.hasServed = true;
    this.idleSince = this.owner.sweeps;
    const { ahead } = this;
    if (ahead === undefined || this.socket.destroyed) return;
    this.ahead = undefined;
    this.received(ahead);
    // What was read after it comes after it.
    if (this.isAheadFull) this.socket.resume();
    this.isAheadFull = false;
  }

  private received(bytes: Buffer): void {
    const { request } = this;
    if (request === undefined) {
      // What comes while the connection ends could not be answered.
      if (!this.socket.writableEnded) this.begin(bytes);
      return;
    }
    const { bytesLeft } = request;
    if (bytes.length <= bytesLeft) {
      request.push(bytes);
      return;
    }
    if (bytesLeft > 0) request.push(bytes.subarray(0, bytesLeft));
    this.keepAhead(bytesLeft === 0 ? bytes : bytes.subarray(bytesLeft));
  }

  /** A request that comes before the last one's answer waits for it. */
  private keepAhead(bytes: Buffer): void {
    this.ahead = this.ahead === undefined ? bytes : Buffer.concat([this.ahead, bytes]);
    if (this.ahead.length <= MAX_AHEAD_BYTES) return;
    this.isAheadFull = true;
    this.socket.pause();
  }

  private begin(bytes: Buffer): void {
    const { serve, isElsewhere } = this.owner.options;
    const head = readSimpleHead(bytes);
    if (head === undefined || isElsewhere(head.url)) {
      this.handOver(bytes);
      return;
    }
    const request = new SimpleRequest(head, this.socket);
    const response = new SimpleResponse(this);
    this.request = request;
    this.response = response;
    serve(request, response);
    if (bytes.length > head.end) this.received(bytes.subarray(head.end));
  }

  private handOver(bytes: Buffer): void {
    const { socket } = this;
    this.release();
    socket.pause();
    socket.unshift(bytes);
    this.owner.options.serveByNode(socket);
    process.nextTick(() => socket.resume());
  }

  private closed(): void {
    this.owner.forget(this);
    const { response } = this;
    this.request = undefined;
    this.response = undefined;
    this.ahead = undefined;
    response?.closed();
  }
}
