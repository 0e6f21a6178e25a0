import fastify from 'fastify';
import type { Finding } from '../../../src/errors';
import type { Objects } from '../../cluster/objects';
import { type ListenAddress, listen } from '../../lib/http-listen';
import { closeServer } from '../../lib/http-server';
import type { RunningServer } from '../../lib/metrics-server';
import type { Endpoints } from '../scheduling/scheduling';
import { DUMP_KINDS, type DumpKind, dumpKind, dumpOne } from './config-dump';
import type { DecisionRing } from './decision-ring';

export interface DebugOptions {
  readonly objects: Objects;
  readonly endpoints: Endpoints;
  readonly ring: DecisionRing;
  readonly findings: () => readonly Finding[];
  readonly address: ListenAddress;
}

/** Serves what the router sees and why it decided as it did. It has no authentication: keep it on loopback. */
export async function startDebugServer({ objects, endpoints, ring, findings, address }: DebugOptions): Promise<RunningServer> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  for (const kind of Object.keys(DUMP_KINDS) as DumpKind[]) {
    app.get(`/debug/config_dump/${kind}`, async () => dumpKind(kind, objects, endpoints));
    app.get<{ Params: { namespace: string; name: string } }>(
      `/debug/config_dump/namespaces/:namespace/${kind}/:name`,
      async ({ params }, reply) => {
        const found = dumpOne(kind, params.namespace, params.name, objects, endpoints);
        if (found !== undefined) return found;
        reply.code(404);
        return { error: `${DUMP_KINDS[kind]} not found` };
      },
    );
  }
  app.get('/debug/decisions', async () => ({ decisions: ring.list() }));
  app.get('/debug/endpoints', async () => ({ endpoints: endpoints.all(), index: endpoints.index() }));
  app.get('/debug/findings', async () => ({ findings: findings() }));
  await app.ready();
  const bound = await listen(app.server, address, '--debug-listen');
  return { address: bound, close: () => closeServer(app.server, 1_000) };
}
