import type { IncomingMessage, ServerResponse } from 'node:http';

/** One request with its whole body, and where the answer goes. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Path without query. */
  readonly path: string;
  readonly body: Buffer;
}

export type Handler = (exchange: Exchange) => void;

/** Path → method → handler. */
export type Routes = Readonly<Record<string, Readonly<Record<string, Handler>>>>;

/** What uvicorn and its CORS layer put on every answer of both engines. */
const COMMON_HEADERS = { server: 'uvicorn', vary: 'Origin' } as const;

/** Headers of one answer; undefined takes a common one away. */
export type ExtraHeaders = Readonly<Record<string, string | undefined>>;

/** Engines send no `connection` header on a connection that they keep. */
function plainConnection(response: ServerResponse): void {
  response.removeHeader('connection');
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers: ExtraHeaders = {}): void {
  sendText(response, status, JSON.stringify(body), 'application/json', headers);
}

/** @param contentType undefined: none is sent. */
export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  contentType?: string,
  headers: ExtraHeaders = {},
): void {
  plainConnection(response);
  const body = Buffer.from(text, 'utf8');
  const all: Record<string, string | number | undefined> = {
    ...COMMON_HEADERS,
    'content-length': body.length,
    'content-type': contentType,
    ...headers,
  };
  for (const name of Object.keys(all)) if (all[name] === undefined) delete all[name];
  response.writeHead(status, all);
  response.end(body);
}

/** Opens a server-sent event stream; its headers leave before the first event is there, as the engines' do. */
export function openEventStream(response: ServerResponse): void {
  plainConnection(response);
  response.writeHead(200, { ...COMMON_HEADERS, 'content-type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
}

/** Sends one event in a chunk of its own. */
export function sendEvent(response: ServerResponse, data: string): void {
  // Node 24 merges the writes of one turn of the event loop into one chunk, unless each is uncorked.
  response.cork();
  response.write(`data: ${data}\n\n`);
  response.uncork();
}

/** Calls `left` once when the connection ends before the answer does. */
export function whenClientLeaves(response: ServerResponse, left: () => void): void {
  response.once('close', () => {
    if (!response.writableFinished) left();
  });
}
