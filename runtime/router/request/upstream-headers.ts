/** Headers that are about one connection, in either direction. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const;

/**
 * Headers that never pass from a client to an engine: hop-by-hop ones, the client's credentials, what the router sets itself, and what
 * only routers may say to engines.
 */
const DROPPED: ReadonlySet<string> = new Set<string>([
  ...HOP_BY_HOP,
  'http2-settings',
  'expect',
  'host',
  'content-length',
  'content-encoding',
  'accept-encoding',
  'authorization',
  'x-api-key',
  'api-key',
  'cookie',
  'forwarded',
  'via',
  'x-real-ip',
  // Engines have their own word on browsers of other origins; here it is the router's.
  'origin',
  'access-control-request-method',
  'access-control-request-headers',
  'x-request-id',
  'x-data-parallel-rank',
  'x-data-parallel-host-port',
  'x-prefiller-host-port',
  'x-prefiller-url',
  'x-routing-key',
]);

/** Prefixes of the same kind: forwarded-for and its siblings come only from proxies, ours and the gateways' words only from us. */
const DROPPED_PREFIXES = ['x-forwarded-', 'x-kvasir-', 'x-kv-', 'x-bootstrap-', 'x-envoy-', 'x-gateway-'] as const;

/**
 * The headers that an engine gets, as name, value, name, value.
 *
 * @param rawHeaders as node:http gives them. @param connection value of the client's `Connection`, whose names go too.
 * @param forwarded what trusted proxies say of the client. @default nothing
 */
export function upstreamHeaders(
  rawHeaders: readonly string[],
  connection: string | undefined,
  requestId: string,
  forwarded?: readonly string[],
): string[] {
  const named = connection === undefined || isPlainConnection(connection) ? undefined : connectionNames(connection);
  const headers: string[] = ['x-request-id', requestId];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    if (DROPPED.has(name) || named?.has(name) === true) continue;
    if (name.charCodeAt(0) === X && DROPPED_PREFIXES.some((prefix) => name.startsWith(prefix))) continue;
    headers.push(name, rawHeaders[index + 1]!);
  }
  if (forwarded !== undefined) headers.push(...forwarded);
  return headers;
}

const X = 0x78;

function isPlainConnection(connection: string): boolean {
  return connection === 'keep-alive' || connection === 'close' || connection === 'Keep-Alive';
}

function connectionNames(connection: string): ReadonlySet<string> {
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}

const ID = /^[\x21-\x7e]{1,128}$/;

/** The client's own request id, when it is short and printable enough to be logged and echoed. */
export function clientRequestId(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' && ID.test(value) ? value : undefined;
}

/** Headers of an engine's answer that the router sets itself or that end here. */
const DROPPED_ANSWER: ReadonlySet<string> = new Set<string>([
  ...HOP_BY_HOP,
  'content-length',
  'date',
  'server',
  'x-request-id',
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-allow-methods',
  'access-control-allow-headers',
  'access-control-expose-headers',
  'access-control-max-age',
]);

/** The head of an engine's answer, as far as the router reads it. */
export interface AnswerHead {
  readonly contentType: string;
  readonly contentLength: string | undefined;
  /** What the client gets, as name, value, name, value. */
  readonly headers: string[];
}

/** @param received name in lower case, value, name, value; latin1 keeps every byte of a value. */
export function answerHead(received: readonly string[]): AnswerHead {
  const headers: string[] = [];
  let contentType = '';
  let contentLength: string | undefined;
  for (let index = 0; index < received.length; index += 2) {
    const name = received[index]!;
    const value = received[index + 1]!;
    if (name === 'content-length') contentLength = value;
    if (DROPPED_ANSWER.has(name)) continue;
    if (name === 'content-type') contentType = value;
    headers.push(name, value);
  }
  return { contentType, contentLength, headers };
}
