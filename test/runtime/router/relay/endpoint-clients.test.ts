import { createServer, type Server, type Socket } from 'node:net';
import { EndpointClients } from '../../../../runtime/router/relay/endpoint-clients';
import type { UpstreamConnection, UpstreamFailure, UpstreamHandler } from '../../../../runtime/router/relay/upstream-connection';
import type { AttemptEndpoint } from '../../../../runtime/router/scheduling/attempts';

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** A server that answers each request head at once, and remembers what it got. */
class Engine {
  readonly sockets: Socket[] = [];
  received = '';
  answer = ANSWER;
  private constructor(private readonly server: Server) {}

  static async start(): Promise<Engine> {
    const engine: Engine = new Engine(
      createServer((socket) => {
        engine.sockets.push(socket);
        socket.on('error', () => undefined);
        socket.on('data', (bytes) => {
          engine.received += bytes.toString('latin1');
          socket.write(engine.answer);
        });
      }),
    );
    await new Promise<void>((resolve) => engine.server.listen(0, '127.0.0.1', resolve));
    return engine;
  }

  get endpoint(): AttemptEndpoint {
    const { port } = this.server.address() as { port: number };
    return { id: 'default/a/1', host: '127.0.0.1', port } as AttemptEndpoint;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

type Ended = { readonly body: string } | UpstreamFailure;

function ask(client: UpstreamConnection, headers: readonly string[] = [], target = '/v1/x'): Promise<Ended> {
  return new Promise((resolve) => {
    let body = '';
    const handler: UpstreamHandler = {
      onConnect() {},
      onHeaders() {},
      onData(bytes) {
        body += bytes.toString();
        return true;
      },
      onComplete: () => resolve({ body }),
      onError: resolve,
    };
    client.dispatch({ method: 'POST', target, headers, body: Buffer.from('{}') }, handler);
  });
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

describe('EndpointClients', () => {
  let engine: Engine;
  let clients: EndpointClients;

  beforeEach(async () => {
    engine = await Engine.start();
    clients = new EndpointClients(1_000, { keepAliveMs: 50 });
  });
  afterEach(async () => {
    await clients.close();
    await engine.close();
  });

  const lease = (): ReturnType<EndpointClients['lease']> => clients.lease(engine.endpoint, 'http');

  it('uses a connection again whose answer was whole', async () => {
    const first = lease();
    expect(await ask(first.client)).toEqual({ body: 'ok' });
    clients.giveBack('default/a/1', first.client);
    const second = lease();
    expect(second).toEqual({ client: first.client, isReused: true });
    expect(await ask(second.client)).toEqual({ body: 'ok' });
    expect(engine.sockets).toHaveLength(1);
  });

  it('ends idle connections before the engine would', async () => {
    const { client } = lease();
    await ask(client);
    clients.giveBack('default/a/1', client);
    await new Promise((resolve) => engine.sockets[0]!.once('close', resolve));
    expect(client.isUsable).toBe(false);
  });

  it('leases no connection that the engine closed while it was idle', async () => {
    const { client } = lease();
    await ask(client);
    clients.giveBack('default/a/1', client);
    engine.sockets[0]!.destroy();
    await nextTurn();
    expect(lease()).toMatchObject({ isReused: false });
  });

  it('gives up a connection on which the engine said more than its answer', async () => {
    const { client } = lease();
    await ask(client);
    engine.sockets[0]!.write(ANSWER);
    await nextTurn();
    expect(client.isUsable).toBe(false);
  });

  it.each([
    ['a line end in a header', ['x-a', 'b\r\nx-evil: 1'], '/'],
    ['a character that would become a line end', ['x-a', 'b\u010ax-evil: 1'], '/'],
    ['a line end in the path', [], '/\r\nx-evil: 1'],
  ])('sends nothing with %s', async (_name, headers, target) => {
    expect(await ask(lease().client, headers, target)).toMatchObject({ kind: 'broken' });
    expect(engine.received).toBe('');
  });

  it('tells requests under way that their endpoint is gone', async () => {
    engine.answer = '';
    const { client } = lease();
    const ended = ask(client);
    await nextTurn();
    await clients.remove('default/a/1');
    expect(await ended).toMatchObject({ kind: 'destroyed' });
  });
});
