import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { Credentials } from './credentials';

/** How a request ended. */
export type ApiAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: unknown; readonly retryAfterMs?: number }
  | { readonly kind: 'unreachable'; readonly message: string };

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Such as `/api/v1/pods`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** @default 'application/json' */
  readonly contentType?: string;
  /** Longest time until all of the answer is there. @default 10 s */
  readonly timeoutMs?: number;
  /** Asked in the turn in which the request is handed to an open connection; false: it is not sent. @default it may */
  readonly mayBeSent?: () => boolean;
}

/** What parts need that ask and do not watch. */
export type ApiRequests = Pick<ApiClient, 'request'>;

export interface StreamListener {
  /** The server has answered 200. */
  opened(): void;
  /** One line, parsed. */
  line(value: unknown): void;
}

const TIMEOUT_MS = 10_000;
const NOT_SENT = 'not sent, since this process does not lead';

/** Asks a Kubernetes API. It never throws: an API that is away is an answer too. Times are real ones, whatever clock the images have. */
export class ApiClient {
  private readonly plain = new HttpAgent({ keepAlive: true });
  private readonly tls = new HttpsAgent({ keepAlive: true });
  private readonly running = new Set<AbortController>();
  private isClosed = false;

  constructor(private readonly credentials: Credentials) {}

  request(asked: ApiRequest): Promise<ApiAnswer> {
    return this.bounded(asked, undefined, async (signal) => {
      const response = await this.send(asked, signal);
      return answer(response, await textOf(response));
    });
  }

  /** Reads a stream of JSON lines until it ends, or `signal` ends it. @returns how it ended; `answered` with 200: it ran and ended. */
  stream(asked: ApiRequest, listener: StreamListener, signal: AbortSignal): Promise<ApiAnswer> {
    return this.bounded(asked, signal, async (ending) => {
      const response = await this.send(asked, ending);
      if (response.statusCode !== 200) return answer(response, await textOf(response));
      listener.opened();
      let rest = '';
      response.setEncoding('utf8');
      for await (const chunk of response as AsyncIterable<string>) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop()!;
        for (const line of lines) if (line !== '') listener.line(JSON.parse(line));
      }
      return { kind: 'answered', status: 200, body: undefined };
    });
  }

  /** Ends every request; later ones are unreachable. */
  close(): void {
    this.isClosed = true;
    for (const each of this.running) each.abort();
    this.plain.destroy();
    this.tls.destroy();
  }

  /** By hand: signals that are made of one that lives long are kept by it, on Node 20. */
  private async bounded(
    { timeoutMs = TIMEOUT_MS }: ApiRequest,
    outer: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<ApiAnswer>,
  ): Promise<ApiAnswer> {
    const ending = new AbortController();
    const end = (): void => ending.abort();
    const timer = setTimeout(end, timeoutMs);
    timer.unref();
    outer?.addEventListener('abort', end, { once: true });
    this.running.add(ending);
    if (this.isClosed || outer?.aborted === true) end();
    try {
      return await work(ending.signal);
    } catch (error) {
      return { kind: 'unreachable', message: this.reason(error, ending.signal) };
    } finally {
      clearTimeout(timer);
      outer?.removeEventListener('abort', end);
      this.running.delete(ending);
    }
  }

  private async send(
    { method, path, query, body, contentType, mayBeSent }: ApiRequest,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { headers, agent, ...tls } = await this.credentials.connection();
    signal.throwIfAborted();
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
    const url = new URL(`${this.credentials.server}${path}${search}`);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const options = {
      method,
      signal,
      headers: {
        ...headers,
        accept: 'application/json',
        'user-agent': 'kvasir',
        ...(text === undefined
          ? {}
          : { 'content-type': contentType ?? 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
      },
    };
    return new Promise((resolve, reject) => {
      const request: ClientRequest =
        url.protocol === 'http:'
          ? httpRequest(url, { ...options, agent: agent ?? this.plain })
          : httpsRequest(url, { ...options, ...tls, agent: agent ?? this.tls });
      request.once('response', resolve);
      request.once('error', reject);
      if (mayBeSent === undefined) request.end(text);
      else whenConnected(request, () => (mayBeSent() ? request.end(text) : request.destroy(new Error(NOT_SENT))));
    });
  }

  private reason(error: unknown, signal: AbortSignal): string {
    if (this.isClosed) return 'the cluster was closed';
    if (signal.aborted) return 'the API server did not answer in time';
    const { code, message } = error as NodeJS.ErrnoException;
    // An AggregateError of several addresses has no message of its own.
    return message === '' || message === undefined ? (code ?? String(error)) : message;
  }
}

/** Nothing of a request is sent before its end, and opening a connection takes time. */
function whenConnected(request: ClientRequest, go: () => void): void {
  request.once('socket', (socket) => {
    if (!socket.connecting) go();
    else socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', go);
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response as AsyncIterable<string>) text += chunk;
  return text;
}

function answer({ statusCode = 0, headers }: IncomingMessage, text: string): ApiAnswer {
  const retryAfterSeconds = Number(headers['retry-after']);
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Proxies and old handlers answer plain text.
  }
  return {
    kind: 'answered',
    status: statusCode,
    body,
    ...(retryAfterSeconds > 0 ? { retryAfterMs: retryAfterSeconds * 1000 } : {}),
  };
}
