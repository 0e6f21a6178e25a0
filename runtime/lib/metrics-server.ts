import fastify from 'fastify';
import { type ListenAddress, listen } from './http-listen';
import { closeServer } from './http-server';
import type { Metrics } from './metrics';

/** A server that was opened and can be closed. */
export interface RunningServer {
  readonly address: ListenAddress;
  close(): Promise<void>;
}

/**
 * Serves `/metrics` on a port of its own.
 *
 * @throws KvasirError when the address cannot be had.
 */
export async function startMetricsServer(
  metrics: Metrics,
  address: ListenAddress,
  flag = '--metrics-listen',
): Promise<RunningServer> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', metrics.registry.contentType);
    return metrics.registry.metrics();
  });
  await app.ready();
  const bound = await listen(app.server, address, flag);
  return { address: bound, close: () => closeServer(app.server, 1_000) };
}
