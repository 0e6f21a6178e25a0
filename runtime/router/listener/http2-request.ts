import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { ClientMessage } from '../request';

/** A request of an HTTP/2 stream, as the pipeline reads those of HTTP/1. */
export class Http2Request implements ClientMessage {
  readonly method: string;
  readonly url: string;
  readonly httpVersion = '2.0';
  readonly headers: ClientMessage['headers'];
  readonly rawHeaders: string[] = [];
  private readonly endsWithHead: boolean;

  /** @param rawHeaders name, value, name, value, with pseudo-headers. @param socket of the connection. */
  constructor(
    private readonly stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    flags: number,
    rawHeaders: readonly string[],
    readonly socket: Socket,
  ) {
    this.method = headers[':method'] ?? '';
    this.url = headers[':path'] ?? '/';
    this.endsWithHead = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    const plain: ClientMessage['headers'] = {};
    for (const name of Object.keys(headers)) if (!isPseudo(name)) plain[name] = headers[name];
    plain.host ??= headers[':authority'];
    this.headers = plain;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      if (!isPseudo(rawHeaders[index]!)) this.rawHeaders.push(rawHeaders[index]!, rawHeaders[index + 1]!);
    }
  }

  /** All of it came. */
  get complete(): boolean {
    return this.endsWithHead || this.stream.readableEnded || this.stream.state.remoteClose === 1;
  }

  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(event: 'data' | 'end', listener: (chunk: Buffer) => void): unknown {
    return this.stream.on(event, listener);
  }

  pause(): unknown {
    return this.stream.pause();
  }

  isPaused(): boolean {
    return this.stream.isPaused();
  }
}

function isPseudo(name: string): boolean {
  return name.charCodeAt(0) === COLON;
}

const COLON = 0x3a;

/** Why a head is refused that HTTP/2 itself allows, but that two readers may read differently; undefined where it is good. */
export function headProblem(headers: IncomingHttpHeaders): 'no-host' | 'two-hosts' | 'expectation' | undefined {
  const { host, expect, ':authority': authority } = headers;
  if (host === undefined && authority === undefined) return 'no-host';
  if (host !== undefined && authority !== undefined && host !== authority) return 'two-hosts';
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') return 'expectation';
  return undefined;
}
