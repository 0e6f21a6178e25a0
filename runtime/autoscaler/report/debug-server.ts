import fastify from 'fastify';
import { type ListenAddress, listen } from '../../lib/http-listen';
import { closeServer } from '../../lib/http-server';
import type { RunningServer } from '../../lib/metrics-server';
import type { ExplainRing } from './explain-ring';

/**
 * Serves `/healthz`, `/readyz` and `/debug/explain[?policy=namespace/name]`.
 *
 * @throws KvasirError when the address cannot be had.
 */
export async function startDebugServer(
  parts: { readonly ring: ExplainRing; readonly isReady: () => boolean },
  address: ListenAddress,
): Promise<RunningServer> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.get('/healthz', async () => 'ok');
  app.get('/readyz', async (_request, reply) => {
    reply.code(parts.isReady() ? 200 : 503);
    return parts.isReady() ? 'ok' : 'no round yet';
  });
  app.get<{ Querystring: { policy?: string } }>('/debug/explain', async (request) => ({
    rounds: parts.ring.rounds(request.query.policy),
  }));
  await app.ready();
  const bound = await listen(app.server, address, '--debug-listen');
  return { address: bound, close: () => closeServer(app.server, 1_000) };
}
