import { Server, type ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import { SimpleConnections, type SimpleConnectionsOptions } from './simple-connections';

/** Serves HTTP/1.1 without TLS: simple requests as `SimpleConnections` reads them, all others as Node does. */
export class Http1Server extends Server {
  private readonly simple: SimpleConnections;

  constructor(options: ServerOptions, simple: Omit<SimpleConnectionsOptions, 'server' | 'serveByNode'>) {
    super(options);
    const [serveByNode] = this.listeners('connection') as ((socket: Socket) => void)[];
    this.removeAllListeners('connection');
    this.simple = new SimpleConnections({ ...simple, server: this, serveByNode: (socket) => serveByNode!.call(this, socket) });
    this.on('connection', (socket) => this.simple.adopt(socket));
  }

  override closeIdleConnections(): void {
    this.simple.closeIdle();
    super.closeIdleConnections();
  }

  override closeAllConnections(): void {
    this.simple.closeAll();
    super.closeAllConnections();
  }
}
