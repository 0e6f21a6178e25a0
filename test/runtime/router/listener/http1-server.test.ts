import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { Http1Server } from '../../../../runtime/router/listener/http1-server';
import type { ClientResponse } from '../../../../runtime/router/relay/client-answer';
import type { ClientMessage } from '../../../../runtime/router/request';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly version: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** A server that tells what it reads, and answers as the path asks. */
class Echo {
  readonly seen: Seen[] = [];
  /** Requests whose answer's connection ended, or that were answered. */
  closed = 0;
  /** Those that were over before the call that ended their answer was. */
  closedWithin = 0;
  /** By whom it was served: Node's own class, or ours. */
  simple = 0;

  constructor(readonly server: Server) {
    // As in the router: answers to what came before come first.
    server.on('clientError', (_error, socket) => {
      setTimeout(
        () => (socket.writable ? socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n') : socket.destroy()),
        10,
      );
    });
  }

  static node(keepAliveTimeout = 75_000): Echo {
    const echo = new Echo(createServer({ keepAliveTimeout, noDelay: true }));
    echo.server.on('request', (message, response) => echo.serve(message, response));
    return echo;
  }

  static simple(limits: { readonly keepAliveMs?: number; readonly requestHeadMs?: number } = {}): Echo {
    const echo: Echo = new Echo(
      new Http1Server(
        { keepAliveTimeout: 75_000, noDelay: true },
        {
          keepAliveMs: 75_000,
          requestHeadMs: 10_000,
          ...limits,
          isElsewhere: (url) => url === '/elsewhere',
          serve: (message, response) => {
            echo.simple += 1;
            echo.serve(message, response);
          },
          refuseLate: (socket) => socket.end('late'),
        },
      ),
    );
    echo.server.on('request', (message, response) => echo.serve(message, response));
    return echo;
  }

  async listen(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }

  connect(): Socket {
    return connect((this.server.address() as AddressInfo).port, '127.0.0.1');
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private serve(message: ClientMessage, response: ClientResponse): void {
    const chunks: Buffer[] = [];
    response.on('close', () => {
      this.closed += 1;
    });
    message.on('data', (chunk) => chunks.push(chunk));
    message.on('end', () => {
      const { method, url, httpVersion, headers, rawHeaders } = message;
      const body = Buffer.concat(chunks).toString('latin1');
      this.seen.push({ method, url, version: httpVersion, headers: { ...headers }, rawHeaders, body });
      setImmediate(() => {
        const { closed } = this;
        answer(response, url ?? '', body);
        this.closedWithin += this.closed - closed;
      });
    });
  }
}

function answer(response: ClientResponse, url: string, body: string): void {
  switch (url) {
    case '/chunks':
      response.writeHead(200, ['Content-Type', 'text/event-stream']);
      response.write(Buffer.from('one'));
      response.write('zwei ü');
      response.write(Buffer.alloc(40_000, 'x'));
      response.end('last');
      return;
    case '/empty':
      response.writeHead(204, ['x-a', 'b']);
      response.end();
      return;
    case '/close':
      response.writeHead(429, ['connection', 'close', 'content-length', '2']);
      response.end('no', 'latin1');
      return;
    case '/last-big':
      response.writeHead(200, ['connection', 'close', 'content-length', '4000000']);
      response.end(Buffer.alloc(4_000_000, 'y'));
      return;
    case '/silent':
      return;
    case '/cut':
      response.writeHead(200, []);
      response.write('part');
      setImmediate(() => response.destroy());
      return;
    case '/big':
      response.writeHead(200, ['content-length', '4000000']);
      response.end(Buffer.alloc(4_000_000, 'y'));
      return;
    default:
      response.writeHead(200, ['content-type', 'text/plain', 'content-length', String(body.length + 1)]);
      response.end(`>${body}`, 'latin1');
  }
}

const DATE = /^date: .*\r\n/gim;
const LAST = 'GET /close HTTP/1.1\r\nhost: last\r\n\r\n';

/** Sends the pieces, and gives what comes until the server ends the connection or has no more to say. */
async function talk(echo: Echo, pieces: readonly (string | Buffer)[]): Promise<string> {
  const socket = echo.connect();
  const chunks: Buffer[] = [];
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.setTimeout(80, () => socket.destroy());
  socket.setNoDelay(true);
  for (const piece of pieces) {
    socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
    if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  return Buffer.concat(chunks).toString('latin1').replace(DATE, '');
}

describe('Http1Server', () => {
  let node: Echo;
  let simple: Echo;

  beforeEach(async () => {
    node = Echo.node();
    simple = Echo.simple();
    await Promise.all([node.listen(), simple.listen()]);
  });

  afterEach(() => Promise.all([node.close(), simple.close()]));

  const both = async (pieces: readonly (string | Buffer)[]): Promise<{ readonly text: string; readonly simple: number }> => {
    node.seen.length = 0;
    simple.seen.length = 0;
    simple.simple = 0;
    const [expected, text] = await Promise.all([talk(node, pieces), talk(simple, pieces)]);
    expect(text).toBe(expected);
    expect(simple.closedWithin).toBe(0);
    // The general server reads on behind what turns out to be the last answer.
    expect(simple.seen).toEqual(node.seen.slice(0, simple.seen.length));
    return { text, simple: simple.simple };
  };

  const post = (path: string, body: string, fields = ''): string =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;

  it.each([
    ['a whole answer', post('/echo', '{"a":1}')],
    ['no body', post('/echo', '')],
    ['a stream', post('/chunks', 'a')],
    ['no content', post('/empty', 'a')],
    ['the last answer', post('/close', 'a')],
    ['a cut answer', post('/cut', 'a')],
    ['bytes that are no text', post('/echo', '\xff\xfe\0\r\n\r\n', 'X-Name: \xe9\r\n')],
    ['GET', 'GET /echo?a=b HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n'],
  ])('gives the same bytes as the general server: %s', async (_name, request) => {
    const { text, simple } = await both([request, LAST]);
    expect(text).toMatch(/^HTTP\/1\.1 /);
    expect(simple).toBeGreaterThan(0);
  });

  it('answers requests that come at once in their order', async () => {
    const requests = Array.from({ length: 20 }, (_, index) => post(index % 3 === 0 ? '/chunks' : '/echo', `n${index}`));
    const { simple } = await both([`${requests.join('')}${LAST}`]);
    expect(simple).toBe(21);
  });

  it.each([
    ['chunks', 'POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'],
    ['HTTP/1.0', 'GET /echo HTTP/1.0\r\nHost: a\r\n\r\n'],
    ['HEAD', 'HEAD /echo HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['no request', 'hello\r\n\r\n'],
    ['a folded field', 'GET /echo HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n'],
    ['a path that is served elsewhere', 'GET /elsewhere HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('lets the general server judge %s, behind a simple request too', async (_name, request) => {
    await both([request, LAST]);
    const { simple } = await both([`${post('/echo', 'first')}${request}${LAST}`]);
    expect(simple).toBe(1);
  });

  it('reads any request, however it is broken and split, as the general server does', async () => {
    const pieces = fc.constantFrom(
      'GET ', 'POST ', 'PUT ', '/echo', '/chunks', '/echo?q=%00', ' HTTP/1.1\r\n', ' HTTP/1.0\r\n', 'Host: a\r\n', 'host: b\r\n',
      'Content-Length: 3\r\n', 'Content-Length: 0\r\n', 'content-length: 03\r\n', 'Content-Length : 3\r\n', 'Transfer-Encoding: chunked\r\n',
      'Connection: keep-alive\r\n', 'Connection: close\r\n', 'X-A: 1\r\n', 'X-A:\t2 \r\n', 'Cookie: a=b\r\n', 'Accept: \xff\r\n', ' folded\r\n',
      '\r\n', '\n', '\r', '\0', 'abc', '3\r\nabc\r\n0\r\n\r\n', ':', ' ', 'Expect: 100-continue\r\n',
    ); // biome-ignore format: a list
    const good = fc.constantFrom(
      post('/echo', 'abc'),
      post('/chunks', 'x', 'X-A: 1\r\n'),
      'GET /echo HTTP/1.1\r\nHost: a\r\n\r\n',
    );
    const changed = fc.tuple(good, fc.nat(), fc.nat({ max: 3 }), pieces).map(([text, at, cut, piece]) => {
      const start = at % text.length;
      return text.slice(0, start) + piece + text.slice(start + cut);
    });
    const message = fc.oneof(
      { weight: 2, arbitrary: good },
      { weight: 3, arbitrary: changed },
      { weight: 1, arbitrary: fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(), { maxLength: 2 }),
        async (messages, cuts) => {
          const bytes = Buffer.from(messages.join(''), 'latin1');
          const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
          const parts = [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
          await both(parts.filter(({ length }) => length > 0));
        },
      ),
      { numRuns: 150 },
    );
  }, 60_000);

  it('tells a request whose client left that it is over', async () => {
    const socket = simple.connect();
    socket.write(post('/silent', 'a'));
    while (simple.seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(simple.closed).toBe(0);
    socket.destroy();
    while (simple.closed === 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('takes no more of a body than it is asked for', async () => {
    const held: ClientMessage[] = [];
    const server = new Http1Server(
      {},
      {
        keepAliveMs: 75_000,
        requestHeadMs: 0,
        isElsewhere: () => false,
        serve: (message) => void held.push(message),
        refuseLate: () => undefined,
      },
    );
    const echo = new Echo(server);
    await echo.listen();
    const socket = echo.connect();
    const body = Buffer.alloc(8_000_000, 'z');
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n`);
    socket.write(body);
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(held[0]!.socket.bytesRead).toBeLessThan(400_000);
    const bytes = await new Promise<number>((resolve) => {
      let count = 0;
      held[0]!.on('data', (chunk) => {
        count += chunk.length;
      });
      held[0]!.on('end', () => resolve(count));
    });
    expect(bytes).toBe(body.length);
    socket.destroy();
    await echo.close();
  });

  it('is over with an answer only when the client has taken it', async () => {
    const socket = simple.connect();
    socket.pause();
    socket.write(post('/big', 'a'));
    while (simple.seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(simple.closed).toBe(0);
    socket.resume();
    while (simple.closed === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
  });

  it('serves nothing behind the last answer of a connection', async () => {
    const socket = simple.connect();
    socket.pause();
    socket.write(post('/last-big', 'a'));
    while (simple.seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.write(post('/echo', 'b'));
    const closed = once(socket, 'close');
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.resume();
    await closed;
    expect(simple.seen).toHaveLength(1);
  });

  it('ends connections that send nothing, and those that are idle after a request', async () => {
    const echo = Echo.simple({ keepAliveMs: 1_000, requestHeadMs: 1_000 });
    await echo.listen();
    const ends = [echo.connect(), echo.connect()].map(async (socket, index) => {
      if (index === 1) socket.write(post('/echo', 'a'));
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString();
      });
      await once(socket, 'close');
      return text;
    });
    const [silent, idle] = await Promise.all(ends);
    expect(silent).toBe('late');
    expect(idle).toMatch(/>a$/);
    await echo.close();
  });

  it('closes idle connections at once, and others after their answer', async () => {
    const [idle, busy] = [simple.connect(), simple.connect()];
    idle.resume();
    idle.write(post('/echo', 'a'));
    await once(idle, 'data');
    let text = '';
    busy.on('data', (chunk) => {
      text += chunk.toString();
    });
    busy.write(`POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\na`);
    while (simple.simple < 2) await new Promise((resolve) => setImmediate(resolve));
    const closed = once(simple.server, 'close');
    simple.server.close();
    await once(idle, 'close');
    busy.write('b');
    await once(busy, 'close');
    expect(text).toMatch(/connection: close\r\n[\s\S]*>ab$/i);
    await closed;
    simple = Echo.simple();
    await simple.listen();
  });
});
