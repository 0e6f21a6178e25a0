import fastify, { type FastifyInstance } from 'fastify';
import { KvasirError } from '../../src/errors';
import { formatAddress, type ListenAddress, listen } from './http-listen';
import { closeServer } from './http-server';
import type { RunningServer } from './metrics-server';

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1']);
/** A name of this machine itself, with or without a port. */
const LOOPBACK_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;

/**
 * Serves the debug pages of an image. They have no authentication, and are for people on the machine: it listens on loopback alone, and a
 * web page that gave loopback a name of its own gets nothing.
 *
 * @param addPages adds the routes.
 * @throws KvasirError `listen/not-loopback`, and those of `listen`.
 */
export async function serveDebugPages(address: ListenAddress, addPages: (app: FastifyInstance) => void): Promise<RunningServer> {
  if (!LOOPBACK.has(address.host)) {
    throw new KvasirError({
      code: 'listen/not-loopback',
      field: '--debug-listen',
      message: `${formatAddress(address)} can be reached from outside, and the debug pages ask nobody who they are`,
      remedy: 'give 127.0.0.1 and a port, and reach it with kubectl port-forward',
    });
  }
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.addHook('onRequest', async (request, reply) => {
    if (LOOPBACK_HOST.test(request.headers.host ?? '')) return;
    reply.code(403);
    return reply.send({ error: 'the debug pages are for this machine: ask for localhost' });
  });
  addPages(app);
  await app.ready();
  const bound = await listen(app.server, address, '--debug-listen');
  return { address: bound, close: () => closeServer(app.server, 1_000) };
}
