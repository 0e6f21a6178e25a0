import { serveDebugPages } from '../../lib/debug-server';
import type { ListenAddress } from '../../lib/http-listen';
import type { RunningServer } from '../../lib/metrics-server';
import type { ExplainRing } from './explain-ring';

/**
 * Serves `/debug/explain[?policy=namespace/name]`.
 *
 * @throws KvasirError `listen/not-loopback`, and when the address cannot be had.
 */
export function startDebugServer(ring: ExplainRing, address: ListenAddress): Promise<RunningServer> {
  return serveDebugPages(address, (app) => {
    app.get<{ Querystring: { policy?: string } }>('/debug/explain', async (request) => ({
      rounds: ring.rounds(request.query.policy),
    }));
  });
}
