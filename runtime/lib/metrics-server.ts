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
 * Serves `/metrics` and `/healthz` on a port of its own, and `/readyz` where `isReady` is given.
 *
 * @throws KvasirError when the address cannot be had.
 */
export async function startMetricsServer(
  metrics: Metrics,
  address: ListenAddress,
  isReady?: () => boolean,
): Promise<RunningServer> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', metrics.registry.contentType);
    return metrics.page();
  });
  app.get('/healthz', async () => 'ok');
  if (isReady !== undefined) {
    app.get('/readyz', async (_request, reply) => {
      const ready = isReady();
      reply.code(ready ? 200 : 503);
      return ready ? 'ok' : 'not ready';
    });
  }
  await app.ready();
  const bound = await listen(app.server, address, '--metrics-listen');
  return { address: bound, close: () => closeServer(app.server, 1_000) };
}
