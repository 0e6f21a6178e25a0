import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { ClientResponse } from '../relay/client-answer';
import type { Http2Request } from './http2-request';

/** Headers that are about a connection, which HTTP/2 forbids. */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);
/** How long a whole answer may lie unread. */
const UNREAD_MS = 60_000;

/** The answer on an HTTP/2 stream, written as one of HTTP/1. */
export class Http2Response implements ClientResponse {
  private isCut = false;

  constructor(
    private readonly stream: ServerHttp2Stream,
    private readonly request: Http2Request,
  ) {}

  get headersSent(): boolean {
    return this.stream.headersSent;
  }

  get destroyed(): boolean {
    return this.isCut || this.stream.destroyed;
  }

  get socket(): ServerHttp2Stream {
    return this.stream;
  }

  on(event: 'close' | 'drain' | 'socket', listener: () => void): unknown {
    return this.stream.on(event, listener);
  }

  writeContinue(): void {
    if (this.isWritable) this.stream.additionalHeaders({ ':status': 100 });
  }

  writeHead(status: number, headers: readonly string[]): void {
    // Of HEAD the writable side is ended from the start.
    if (this.destroyed || this.stream.closed || this.headersSent) return;
    this.stream.respond({ ':status': status, ...joined(headers) }, { endStream: this.request.method === 'HEAD' });
  }

  write(chunk: Buffer | string): boolean {
    return !this.isWritable || this.stream.write(chunk);
  }

  end(chunk?: Buffer | string, encoding: BufferEncoding = 'utf8'): void {
    const { stream } = this;
    if (this.isWritable) {
      if (chunk === undefined) stream.end();
      else stream.end(chunk, encoding);
    }
    if (stream.destroyed) return;
    // The rest of a body that nobody will read must not come, and what came must go, or the stream would never end.
    if (!this.request.complete) stream.once('finish', () => stream.close(constants.NGHTTP2_NO_ERROR));
    stream.resume();
    stream.setTimeout(UNREAD_MS, () => stream.close(constants.NGHTTP2_CANCEL));
  }

  destroy(): void {
    if (this.destroyed) return;
    this.isCut = true;
    // With an error: closing alone would end the answer as if it were whole, before it resets the stream.
    this.stream.destroy(new Error('the answer was cut'));
  }

  private get isWritable(): boolean {
    const { stream } = this;
    return !this.isCut && !stream.destroyed && !stream.closed && !stream.writableEnded;
  }
}

/** Repeated headers as one value, except cookies, which have no list form. */
function joined(headers: readonly string[]): OutgoingHttpHeaders {
  const values: Record<string, string | string[]> = {};
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase();
    const value = headers[index + 1]!;
    const known = values[name];
    if (OF_CONNECTIONS.has(name)) continue;
    if (name === 'set-cookie') values[name] = [...(known ?? []), value];
    else values[name] = known === undefined ? value : `${known}, ${value}`;
  }
  return values;
}
