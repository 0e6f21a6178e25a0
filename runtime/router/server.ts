import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fastify from 'fastify';
import type { Clock } from '../lib/clock';
import { RequestTrace } from './observability/request-trace';
import { ClientAnswer } from './relay/client-answer';
import type { IncomingRequest } from './request';
import { RequestIds } from './request/request-ids';
import { clientRequestId } from './request/upstream-headers';

export interface ServerOptions {
  readonly clock: Clock;
  readonly serve: (incoming: IncomingRequest) => Promise<void>;
  /** What `/readyz` says. */
  readonly isReady: () => boolean;
  readonly isDraining: () => boolean;
}

/** Idle client connections stay open for longer than load balancers keep theirs (60 s), so that these close first. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 64 * 1024;

const HEALTH_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/**
 * The inference port's server. fastify answers the health paths; everything else goes to the pipeline before fastify sees it, since
 * its hooks and replies would cost more than the relay itself.
 */
export async function createRouterServer(options: ServerOptions): Promise<Server> {
  const ids = new RequestIds();
  const app = fastify({
    logger: false,
    serverFactory: (handler) => {
      const server = createServer({
        keepAliveTimeout: KEEP_ALIVE_MS,
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: 0,
        maxHeaderSize: MAX_HEADER_BYTES,
        noDelay: true,
        requireHostHeader: true,
      });
      server.on('request', (message, response) => {
        if (isHealth(message.url)) handler(message, response);
        else void options.serve(incomingOf(message, response, options, ids, false));
      });
      server.on('checkContinue', (message, response) => void options.serve(incomingOf(message, response, options, ids, true)));
      server.on('clientError', refuseConnection);
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

function incomingOf(
  message: IncomingMessage,
  response: ServerResponse,
  options: ServerOptions,
  ids: RequestIds,
  expectsContinue: boolean,
): IncomingRequest {
  const { clock } = options;
  const trace = new RequestTrace(message.method ?? '', `HTTP/${message.httpVersion}`, clock.now(), clock.monotonic());
  trace.requestId = clientRequestId(message.headers['x-request-id']) ?? ids.make();
  const own = ['x-request-id', trace.requestId];
  if (options.isDraining()) own.push('connection', 'close');
  return {
    message,
    answer: new ClientAnswer(response, own),
    trace,
    letBodyCome: () => {
      if (expectsContinue) response.writeContinue();
    },
  };
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
        ? '408 Request Timeout'
        : '400 Bad Request';
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
