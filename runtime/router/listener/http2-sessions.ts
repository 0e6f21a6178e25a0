import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { TlsConfig } from '../../../src/config/tls-config';
import { FloodGuard } from './flood-guard';
import { Http2Request, headProblem } from './http2-request';
import { Http2Response } from './http2-response';

export interface Http2Options {
  readonly limits: TlsConfig['http2'];
  /** Largest head, in bytes as HTTP/2 counts them. */
  readonly maxHeaderBytes: number;
  /** How long a connection may carry nothing. */
  readonly idleMs: number;
  /** Longest that a connection may take to say its settings; 0: no limit. */
  readonly requestHeadMs: number;
  readonly isDraining: () => boolean;
  readonly onRequest: (request: Http2Request, response: Http2Response, expectsContinue: boolean) => void;
  /** A connection was ended because of what its client did. */
  readonly onFlood: () => void;
}

/** Window of a whole connection: a client with many long prompts is held by that of each stream, not by this one. */
const CONNECTION_WINDOW_BYTES = 16 * 2 ** 20;

/** The HTTP/2 connections of the inference port, each with its limits. */
export class Http2Sessions {
  private readonly open = new Map<ServerHttp2Session, { streams: number }>();

  constructor(private readonly options: Http2Options) {}

  /** Takes over a connection whose client chose HTTP/2. */
  adopt(socket: TLSSocket): void {
    const { limits, maxHeaderBytes, idleMs, requestHeadMs } = this.options;
    const session = performServerHandshake(socket, {
      maxSessionMemory: limits.maxSessionMemoryMiB,
      settings: {
        initialWindowSize: limits.initialWindowBytes,
        maxConcurrentStreams: limits.maxConcurrentStreams,
        maxHeaderListSize: maxHeaderBytes,
        enableConnectProtocol: false,
      },
    }) as ServerHttp2Session;
    const state = { streams: 0 };
    this.open.set(session, state);
    const guard = new FloodGuard(performance.now());
    const judge = (): void => {
      if (guard.allows(performance.now()) || session.destroyed) return;
      this.options.onFlood();
      session.destroy(new Error('flood'), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    };
    const late = requestHeadMs === 0 ? undefined : setTimeout(() => session.destroy(), requestHeadMs).unref();
    session.setLocalWindowSize(Math.max(CONNECTION_WINDOW_BYTES, limits.initialWindowBytes));
    session.setTimeout(idleMs, () => {
      if (state.streams === 0) session.close();
    });
    session.on('remoteSettings', () => {
      clearTimeout(late);
      judge();
    });
    session.on('ping', judge);
    session.on(
      'stream',
      (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: readonly string[]) => {
        state.streams += 1;
        stream.on('close', () => {
          state.streams -= 1;
          if (!stream.headersSent) judge();
        });
        // Its end is told by `close`, whatever it was.
        stream.on('error', () => undefined);
        this.serve(stream, headers, flags, rawHeaders, socket);
        // After its streams the connection ends; a client that sent another one meanwhile learns that it may send it again elsewhere.
        if (this.options.isDraining() && !session.closed) session.close();
      },
    );
    session.on('error', () => undefined);
    session.on('close', () => {
      clearTimeout(late);
      this.open.delete(session);
    });
  }

  /** Ends connections that carry nothing. */
  closeIdle(): void {
    for (const [session, { streams }] of this.open) if (streams === 0) session.close();
  }

  /** Takes no further requests; each connection ends with the last one that it carries. */
  closeAll(): void {
    for (const session of this.open.keys()) session.close();
  }

  cutAll(): void {
    for (const session of this.open.keys()) session.destroy();
  }

  private serve(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    flags: number,
    rawHeaders: readonly string[],
    socket: TLSSocket,
  ): void {
    const request = new Http2Request(stream, headers, flags, rawHeaders, socket);
    const response = new Http2Response(stream, request);
    const problem = headProblem(headers);
    if (problem === undefined) {
      this.options.onRequest(request, response, headers.expect !== undefined);
      return;
    }
    response.writeHead(problem === 'expectation' ? 417 : 400, ['content-length', '0']);
    response.end();
  }
}
