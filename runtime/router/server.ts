import type { Server } from 'node:http';
import type { ServerOptions as TlsServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import type { TlsConfig } from '../../src/config/tls-config';
import type { Clock } from '../lib/clock';
import { atEndOfTurn } from '../lib/end-of-turn';
import { Http1Server } from './listener/http1-server';
import { Http2Sessions } from './listener/http2-sessions';
import { TlsServer } from './listener/tls-server';
import { RequestTrace } from './observability/request-trace';
import { ClientAnswer, type ClientResponse } from './relay/client-answer';
import type { ClientMessage, IncomingRequest } from './request';
import type { Cors } from './request/cors';
import { RequestIds } from './request/request-ids';
import { clientRequestId } from './request/upstream-headers';

export interface ServerOptions {
  readonly clock: Clock;
  readonly serve: (incoming: IncomingRequest) => Promise<void>;
  /** What `/readyz` says. */
  readonly isReady: () => boolean;
  readonly isDraining: () => boolean;
  /** Longest that the head of a request may take; 0: no limit. */
  readonly requestHeadMs: number;
  /** Longest that the end of an answer may lie unread; 0: no limit. Read for each request. */
  readonly unreadMs: number;
  /** Absent: browsers of other origins are told nothing, and refuse. */
  readonly cors?: Cors | undefined;
  /** Absent: plain HTTP/1.1. */
  readonly tls?: ListenerTls | undefined;
}

/** How the inference port is encrypted. */
export interface ListenerTls {
  readonly options: Pick<TlsServerOptions, 'cert' | 'key' | 'ca' | 'requestCert' | 'rejectUnauthorized' | 'minVersion'>;
  readonly http2: TlsConfig['http2'];
  readonly onHandshakeFailed: () => void;
  readonly onFlood: () => void;
}

/** Idle client connections stay open for longer than load balancers keep theirs (60 s), so that these close first. */
const KEEP_ALIVE_MS = 75_000;
const MAX_HEADER_BYTES = 64 * 1024;
/** Between looks for connections whose head is late; Node's own 30 s would let them live for four times as long as they may. */
const LATE_HEAD_CHECK_MS = 1_000;
/** Status of a head that is late. */
const LATE = '408 Request Timeout';

const HEALTH_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/**
 * The inference port's server. fastify answers the health paths; everything else goes to the pipeline before fastify sees it, since
 * its hooks and replies would cost more than the relay itself.
 */
export async function createRouterServer(options: ServerOptions): Promise<Server> {
  const ids = new RequestIds();
  const app: FastifyInstance = fastify({
    logger: false,
    // Answers to what came before it on the connection are written at the end of the turn too, and first.
    clientErrorHandler: (error, socket) => atEndOfTurn({ flush: () => refuseConnection(error, socket) }),
    serverFactory: (handler) => {
      const http1 = {
        keepAliveTimeout: KEEP_ALIVE_MS,
        headersTimeout: options.requestHeadMs,
        requestTimeout: 0,
        connectionsCheckingInterval: LATE_HEAD_CHECK_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
        noDelay: true,
        requireHostHeader: true,
      };
      const server =
        options.tls === undefined
          ? new Http1Server(http1, {
              keepAliveMs: KEEP_ALIVE_MS,
              requestHeadMs: options.requestHeadMs,
              isElsewhere: isHealth,
              serve: (message, response) => void options.serve(incomingOf(message, response, options, ids)),
              refuseLate: (socket) => refuse(socket, LATE),
            })
          : createTlsServer(options.tls, http1, options, ids, () => app);
      server.on('request', (message, response) => {
        if (isHealth(message.url)) handler(message, response);
        else if (options.cors !== undefined && message.method === 'OPTIONS') preflight(options.cors, message, response);
        else void options.serve(incomingOf(message, response, options, ids));
      });
      server.on(
        'checkContinue',
        (message, response) => void options.serve(incomingOf(message, response, options, ids, () => response.writeContinue())),
      );
      return server;
    },
  });
  app.get('/healthz', async () => ({ message: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    if (options.isReady() && !options.isDraining()) return { message: 'router is ready' };
    reply.code(503);
    return { message: 'router is not ready' };
  });
  await app.ready();
  return app.server;
}

function isHealth(url: string | undefined): boolean {
  if (url === undefined) return false;
  const query = url.indexOf('?');
  return HEALTH_PATHS.has(query === -1 ? url : url.slice(0, query));
}

function preflight(cors: Cors, { url = '/', headers }: ClientMessage, response: ClientResponse): void {
  cors.preflight(url, headers.origin, headers['access-control-request-headers'], response);
}

function incomingOf(
  message: ClientMessage,
  response: ClientResponse,
  options: ServerOptions,
  ids: RequestIds,
  letBodyCome: () => void = nothing,
): IncomingRequest {
  const { clock } = options;
  const trace = new RequestTrace(message.method ?? '', `HTTP/${message.httpVersion}`, clock.now(), clock.monotonic());
  trace.requestId = clientRequestId(message.headers['x-request-id']) ?? ids.make();
  const own = ['x-request-id', trace.requestId];
  if (options.isDraining()) own.push('connection', 'close');
  if (options.cors !== undefined) own.push(...options.cors.headers(message.headers.origin));
  return { message, answer: new ClientAnswer(response, own, options), trace, letBodyCome };
}

function nothing(): void {}

/** The same over TLS, and HTTP/2 beside it. */
function createTlsServer(
  tls: ListenerTls,
  http1: TlsServerOptions & { readonly maxHeaderSize: number },
  options: ServerOptions,
  ids: RequestIds,
  app: () => FastifyInstance,
): Server {
  const { requestHeadMs, isDraining } = options;
  const sessions = new Http2Sessions({
    limits: tls.http2,
    maxHeaderBytes: http1.maxHeaderSize,
    idleMs: KEEP_ALIVE_MS,
    requestHeadMs,
    isDraining,
    onFlood: tls.onFlood,
    onRequest: (request, response, expectsContinue) => {
      const letBodyCome = expectsContinue ? () => response.writeContinue() : nothing;
      if (isHealth(request.url)) void answerHealth(app(), request, response);
      else if (options.cors !== undefined && request.method === 'OPTIONS') preflight(options.cors, request, response);
      else void options.serve(incomingOf(request, response, options, ids, letBodyCome));
    },
  });
  const handshakeTimeout = requestHeadMs === 0 ? {} : { handshakeTimeout: requestHeadMs };
  return new TlsServer({ ...http1, ...tls.options, ...handshakeTimeout }, sessions, tls.onHandshakeFailed);
}

/** fastify's own server speaks HTTP/1 only. */
async function answerHealth(app: FastifyInstance, { method, url }: ClientMessage, response: ClientResponse): Promise<void> {
  const { statusCode, payload, headers } = await app.inject({
    method: method === 'HEAD' ? 'HEAD' : method === 'GET' ? 'GET' : 'POST',
    url: url ?? '/',
  });
  response.writeHead(statusCode, [
    'content-type',
    String(headers['content-type']),
    'content-length',
    String(headers['content-length']),
  ]);
  response.end(payload);
}

/** What cannot be parsed as a request gets a plain answer, and its connection ends: nothing after it can be trusted. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? LATE
        : '400 Bad Request';
  refuse(socket, status);
}

/** @param status code and phrase. */
function refuse(socket: Socket, status: string): void {
  const body = JSON.stringify({
    error: {
      message: 'the request is no valid HTTP; correct its head',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_http',
    },
  });
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
