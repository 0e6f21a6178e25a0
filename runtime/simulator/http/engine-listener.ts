import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ListenAddress, listen } from '../../lib/http-listen';
import { type Exchange, type Handler, type Routes, sendJson } from './exchange';

/** What both engines' web server answers to bytes that are no HTTP. */
const MALFORMED =
  'HTTP/1.1 400 Bad Request\r\nserver: uvicorn\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 30\r\nconnection: close\r\n\r\nInvalid HTTP request received.';

export interface ListenerOptions {
  readonly routes: Routes;
  /** Runs before routing. @returns true when it answered. */
  guard(request: IncomingMessage, response: ServerResponse, path: string): boolean;
  /** Told of every answer that ended, for the request counters. */
  onAnswered(method: string, handler: string, status: number): void;
}

/** An engine's HTTP socket: routing as Starlette does it, and the ways in which a socket can fail. */
export class EngineListener {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private bound: ListenAddress | undefined;

  constructor(private readonly options: ListenerOptions) {
    this.server = createServer({ keepAliveTimeout: 5_000, requestTimeout: 0 }, (request, response) =>
      this.receive(request, response),
    );
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    this.server.on('clientError', (_error, socket) => {
      if (socket.writable) socket.end(MALFORMED);
      else socket.destroy();
    });
  }

  /**
   * Binds; port 0 chooses a free one.
   *
   * @throws KvasirError `listen/address-in-use`, `listen/not-allowed` or `listen/failed`.
   */
  async listen(host: string, port: number): Promise<ListenAddress> {
    this.bound = await listen(this.server, { host, port }, 'simulated engine');
    return this.bound;
  }

  /** Stops taking connections: new ones are refused by the system. Requests that run go on. */
  close(): void {
    if (this.server.listening) this.server.close();
  }

  /** Listens again where it did before `close`. */
  async reopen(): Promise<void> {
    if (this.bound !== undefined && !this.server.listening) await this.listen(this.bound.host, this.bound.port);
  }

  /** Resolves when no connection is open. */
  async whenUnused(): Promise<void> {
    await Promise.all([...this.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    if (this.sockets.size > 0) await this.whenUnused();
  }

  /** Stops listening and ends every connection when what was written to it is sent. Resolves when none is open. */
  async finish(): Promise<void> {
    this.close();
    for (const socket of this.sockets) socket.destroySoon();
    await this.whenUnused();
  }

  /** Stops listening and cuts every connection. */
  destroy(): void {
    this.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private receive(request: IncomingMessage, response: ServerResponse): void {
    const { options } = this;
    const url = request.url ?? '/';
    const query = url.indexOf('?');
    const path = query < 0 ? url : url.slice(0, query);
    const methods = options.routes[path];
    response.once('finish', () =>
      options.onAnswered(request.method ?? 'GET', methods === undefined ? 'none' : path, response.statusCode),
    );
    if (options.guard(request, response, path)) {
      request.resume();
      return;
    }
    const handler = methods?.[request.method ?? 'GET'];
    if (methods === undefined || handler === undefined) {
      request.resume();
      if (methods === undefined) sendJson(response, 404, { detail: 'Not Found' });
      else sendJson(response, 405, { detail: 'Method Not Allowed' }, { allow: Object.keys(methods).join(', ') });
      return;
    }
    readBody(request, (body) => {
      handle(handler, { request, response, path, body });
    });
  }
}

/** An endpoint that throws costs its own request, not the process, which may run many engines. */
function handle(handler: Handler, exchange: Exchange): void {
  try {
    handler(exchange);
  } catch (error) {
    const { response } = exchange;
    if (response.headersSent) response.destroy();
    else {
      const { message } = error as Error;
      sendJson(response, 500, { error: { message, type: 'InternalServerError', param: null, code: 500 } });
    }
  }
}

/** Calls `done` with the whole body; never when the client leaves before it is sent. */
function readBody(request: IncomingMessage, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.once('end', () => done(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
}
