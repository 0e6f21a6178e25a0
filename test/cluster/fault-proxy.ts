import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Credentials } from '../../runtime/cluster/kubernetes/credentials';

/** A request that came to the proxy. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly isWatch: boolean;
}

/** An answer in place of the API server's. */
export interface FalseAnswer {
  readonly status: number;
  readonly message?: string;
  readonly retryAfterSeconds?: number;
}

interface Rule {
  readonly matches: (request: SeenRequest) => boolean;
  readonly answer: FalseAnswer;
  times: number;
}

/**
 * Stands before an API server, at a plain HTTP address that stays the same, and misbehaves on demand: it refuses connections, hangs, gives
 * other answers, cuts watches, or tells them that their version is gone.
 */
export class FaultProxy {
  /** All requests so far. */
  readonly seen: SeenRequest[] = [];
  /** What the API server warned of, such as fields that it does not know and versions that will end. */
  readonly warnings: string[] = [];
  /** What the API server did not allow. */
  readonly forbidden = new Set<string>();
  private readonly sockets = new Set<Socket>();
  private readonly watches = new Map<ServerResponse, IncomingMessage>();
  private rules: Rule[] = [];
  private held: (() => void)[] = [];
  private isHanging = false;

  private constructor(
    private readonly upstream: Credentials,
    private server: Server,
    private readonly port: number,
  ) {
    this.take(server);
  }

  /** @param upstream whose server is stood before; its credentials are used for requests that bring none. */
  static async start(upstream: Credentials): Promise<FaultProxy> {
    const server = createServer();
    return new FaultProxy(upstream, server, await listening(server, 0));
  }

  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The same identity, by way of the proxy. */
  credentials(identity: Credentials = this.upstream): Credentials {
    return { ...identity, server: this.address };
  }

  /** Ends every connection and takes no new ones, until `heal`. */
  async refuse(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Nothing comes back, on old connections and new ones, until `heal`. */
  hang(): void {
    this.isHanging = true;
    for (const answer of this.watches.values()) answer.pause();
  }

  /** Gives another answer to the next `times` requests that match. */
  answer(matches: (request: SeenRequest) => boolean, answer: FalseAnswer, times = Number.POSITIVE_INFINITY): void {
    this.rules.push({ matches, answer, times });
  }

  /** Ends every open watch in the middle. @returns how many there were. */
  cutWatches(): number {
    const open = [...this.watches.keys()];
    for (const response of open) response.destroy();
    return open.length;
  }

  /** Tells every open watch that the server does not know its version any more. */
  expireWatches(): void {
    const object = { kind: 'Status', apiVersion: 'v1', code: 410, reason: 'Expired', message: 'too old resource version' };
    for (const response of this.watches.keys()) response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
  }

  /** Behaves again. */
  async heal(): Promise<void> {
    this.rules = [];
    if (!this.server.listening) {
      this.server = createServer();
      await listening(this.server, this.port);
      this.take(this.server);
    }
    this.isHanging = false;
    for (const answer of this.watches.values()) answer.resume();
    for (const go of this.held.splice(0)) go();
  }

  async close(): Promise<void> {
    this.held = [];
    if (this.server.listening) await this.refuse();
  }

  private take(server: Server): void {
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    server.on('request', (incoming, response) => void this.handle(incoming, response));
  }

  private async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url!, this.address);
    const isWatch = url.searchParams.get('watch') === '1';
    const seen: SeenRequest = { method: incoming.method!, path: url.pathname, query: url.searchParams, isWatch };
    this.seen.push(seen);
    if (this.isHanging) await new Promise<void>((resolve) => this.held.push(resolve));
    const rule = this.rules.find(({ times, matches }) => times > 0 && matches(seen));
    if (rule !== undefined) {
      rule.times -= 1;
      const { status, message = '', retryAfterSeconds } = rule.answer;
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
      });
      response.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, message }));
      return;
    }
    await this.forward(incoming, response, isWatch);
  }

  private async forward(incoming: IncomingMessage, response: ServerResponse, isWatch: boolean): Promise<void> {
    const { headers, ...tls } = await this.upstream.connection();
    const options: RequestOptions = { ...tls, method: incoming.method, headers: { ...headers, ...incoming.headers } };
    const outgoing = request(new URL(incoming.url!, this.upstream.server), options);
    const end = (): void => {
      response.destroy();
    };
    outgoing.once('error', end);
    response.once('close', () => {
      this.watches.delete(response);
      outgoing.destroy();
    });
    outgoing.once('response', (answer) => {
      const { warning } = answer.headers;
      if (warning !== undefined) this.warnings.push(`${incoming.method} ${incoming.url}: ${warning}`);
      response.writeHead(answer.statusCode!, answer.headers);
      response.flushHeaders();
      if (answer.statusCode === 403) this.forbidden.add(`${incoming.method} ${incoming.url!.split('?')[0]}`);
      if (isWatch) this.watches.set(response, answer);
      answer.on('data', (chunk: Buffer) => response.write(chunk));
      answer.once('end', () => response.end());
      answer.once('error', end);
      if (isWatch && this.isHanging) answer.pause();
    });
    incoming.pipe(outgoing);
  }
}

async function listening(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}
