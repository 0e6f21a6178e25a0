import fastify from 'fastify';
import { type ListenAddress, listen } from '../../lib/http-listen';
import { closeServer } from '../../lib/http-server';
import type { RunningServer } from '../../lib/metrics-server';
import type { ExplainRing } from './explain-ring';

/**
 * Serves `/debug/explain[?policy=namespace/name]`.
 *
 * @throws KvasirError when the address cannot be had.
 */
export async function startDebugServer(ring: ExplainRing, address: ListenAddress): Promise<RunningServer> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.get<{ Querystring: { policy?: string } }>('/debug/explain', async (request) => ({
    rounds: ring.rounds(request.query.policy),
  }));
  await app.ready();
  const bound = await listen(app.server, address, '--debug-listen');
  return { address: bound, close: () => closeServer(app.server, 1_000) };
}
