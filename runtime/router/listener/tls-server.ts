import { Server, type ServerOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { Http2Sessions } from './http2-sessions';

/**
 * Serves HTTP/1.1 and HTTP/2 on one port, as each client chooses in its handshake. HTTP/1.1 takes the same way as without TLS; closing
 * means both.
 */
export class TlsServer extends Server {
  /** @param onHandshakeFailed a client could not be agreed with, or has no certificate that it needs. */
  constructor(
    options: ServerOptions,
    private readonly sessions: Http2Sessions,
    onHandshakeFailed: () => void,
  ) {
    super({ ...options, ALPNProtocols: ['h2', 'http/1.1'] });
    const [serveHttp1] = this.listeners('secureConnection') as ((socket: TLSSocket) => void)[];
    this.removeAllListeners('secureConnection');
    this.on('secureConnection', (socket) => {
      if (socket.alpnProtocol === 'h2') sessions.adopt(socket);
      else serveHttp1!.call(this, socket);
    });
    // Node would answer in plain HTTP, which no such client reads.
    this.removeAllListeners('tlsClientError');
    this.on('tlsClientError', (_error, socket) => {
      onHandshakeFailed();
      socket.destroy();
    });
  }

  override close(callback?: (error?: Error) => void): this {
    this.sessions.closeAll();
    return super.close(callback);
  }

  override closeIdleConnections(): void {
    this.sessions.closeIdle();
    super.closeIdleConnections();
  }

  override closeAllConnections(): void {
    this.sessions.cutAll();
    super.closeAllConnections();
  }
}
