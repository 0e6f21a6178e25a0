import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiClient } from '../../../../runtime/cluster/kubernetes/api-client';

const NOT_SENT = { kind: 'unreachable', message: 'not sent, since this process does not lead' };

let server: Server;
let client: ApiClient;
const bodies: string[] = [];
/** Runs while a request waits for its credentials. */
let meanwhile: () => void;

beforeEach(async () => {
  bodies.length = 0;
  meanwhile = () => undefined;
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new ApiClient({
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    namespace: 'default',
    async connection() {
      meanwhile();
      return { headers: {} };
    },
  });
});

afterEach(async () => {
  client.close();
  await new Promise((resolve) => server.close(resolve));
});

describe('a request that may be sent only while something holds', () => {
  const put = (mayBeSent: () => boolean) => client.request({ method: 'PUT', path: '/x', body: { replicas: 3 }, mayBeSent });

  it('is sent while it does, over new connections and old ones', async () => {
    for (let i = 0; i < 3; i++) expect(await put(() => true)).toMatchObject({ kind: 'answered', status: 200 });
    expect(bodies).toEqual(Array(3).fill('{"replicas":3}'));
  });

  it('is asked about after credentials and connection are there, so that no pause comes between', async () => {
    let holds = true;
    meanwhile = () => {
      holds = false;
    };
    expect(await put(() => holds)).toEqual(NOT_SENT);
    meanwhile = () => undefined;
    await put(() => true);
    let sockets = 0;
    server.once('connection', () => {
      sockets += 1;
    });
    expect(await put(() => false)).toEqual(NOT_SENT);
    expect([bodies, sockets]).toEqual([['{"replicas":3}'], 0]);
  });

  it('leaves others of the process as they are', async () => {
    await Promise.all([put(() => false), client.request({ method: 'GET', path: '/y' })]);
    expect(bodies).toEqual(['']);
  });
});
