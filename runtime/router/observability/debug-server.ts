import type { FastifyInstance } from 'fastify';
import type { Finding } from '../../../src/errors';
import type { ClusterSnapshot } from '../../cluster/cluster-snapshot';
import type { Objects } from '../../cluster/objects';
import { serveDebugPages } from '../../lib/debug-server';
import type { ListenAddress } from '../../lib/http-listen';
import type { RunningServer } from '../../lib/metrics-server';
import type { LimitsStatus } from '../admission/limits/limits';
import type { ConfigState } from '../config-reload';
import type { Endpoints } from '../scheduling/scheduling';
import { ABSENT_KINDS, DUMP_KINDS, type DumpKind, dumpKind, dumpOne } from './config-dump';
import type { DecisionRing } from './decision-ring';

export interface DebugOptions {
  readonly objects: Objects;
  readonly endpoints: Endpoints;
  readonly ring: DecisionRing;
  readonly findings: () => readonly Finding[];
  readonly config: () => ConfigState;
  readonly limits: () => LimitsStatus;
  /** What is under way. */
  readonly load: () => object;
  /** What waits for room. */
  readonly queue: () => object;
  /** What is seen of the cluster. */
  readonly snapshot: () => Promise<ClusterSnapshot>;
  readonly address: ListenAddress;
}

/**
 * Serves what the router sees and why it decided as it did.
 *
 * @throws KvasirError `listen/not-loopback`, and those of `listen`.
 */
export function startDebugServer(options: DebugOptions): Promise<RunningServer> {
  return serveDebugPages(options.address, (app) => addPages(app, options));
}

function addPages(app: FastifyInstance, options: DebugOptions): void {
  const { objects, endpoints, ring } = options;
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
  for (const [kind, name] of Object.entries(ABSENT_KINDS)) {
    app.get(`/debug/config_dump/${kind}`, async () => ({ [kind]: null }));
    app.get(`/debug/config_dump/namespaces/:namespace/${kind}/:name`, async (_request, reply) => {
      reply.code(404);
      return { error: `${name} not found` };
    });
  }
  app.get('/debug/decisions', async () => ({ decisions: ring.list() }));
  app.get('/debug/endpoints', async () => ({ endpoints: endpoints.all(), index: endpoints.index() }));
  app.get('/debug/index', async () => ({
    ...endpoints.index(),
    endpoints: endpoints.all().map(({ endpoint, indexedBytes }) => ({ endpoint: endpoint.id, indexedBytes })),
  }));
  app.get('/debug/findings', async () => ({ findings: options.findings() }));
  app.get('/debug/config', async () => options.config());
  app.get('/debug/limits', async () => options.limits());
  app.get('/debug/load', async () => options.load());
  app.get('/debug/queue', async () => options.queue());
  app.get('/debug/cluster', () => options.snapshot());
}
