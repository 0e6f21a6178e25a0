import { readFileSync } from 'node:fs';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2';
import { join } from 'node:path';

/** The path of a certificate or key for tests. */
export const tlsFixture = (name: string): string => join(__dirname, '../fixtures/tls', name);

const AUTHORITY = readFileSync(tlsFixture('authority.pem'));

/** Opens an HTTP/2 connection over TLS, and waits until the server said its settings. */
export async function openHttp2(port: number, options: SecureClientSessionOptions = {}): Promise<ClientHttp2Session> {
  const session = connect(`https://localhost:${port}`, { ca: AUTHORITY, ...options });
  session.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    session.once('remoteSettings', () => resolve());
    session.once('error', reject);
    session.once('close', () => reject(new Error('closed before its settings')));
  });
  return session;
}

export interface Http2Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** How the stream ended; 0 in peace. */
  readonly rstCode: number;
}

/** Sends one request and waits for its end, whatever it is. */
export function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: string | Buffer): Promise<Http2Answer> {
  const stream = session.request(headers, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return answerOf(stream);
}

/** What comes back on a stream. */
export function answerOf(stream: ClientHttp2Stream): Promise<Http2Answer> {
  return new Promise((resolve) => {
    let headers: Http2Answer['headers'] = {};
    const chunks: Buffer[] = [];
    stream.on('response', (received) => {
      headers = received as Http2Answer['headers'];
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', () => undefined);
    stream.on('close', () =>
      resolve({
        status: headers[':status'] as unknown as number | undefined,
        headers,
        body: Buffer.concat(chunks).toString('latin1'),
        rstCode: stream.rstCode ?? 0,
      }),
    );
  });
}

/** Headers of a request with a JSON body. */
export function post(path: string, extra: OutgoingHttpHeaders = {}): OutgoingHttpHeaders {
  return { ':method': 'POST', ':path': path, 'content-type': 'application/json', ...extra };
}
