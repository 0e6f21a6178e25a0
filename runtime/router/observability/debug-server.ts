import fastify from 'fastify';
import { type Finding, KvasirError } from '../../../src/errors';
import type { ClusterSnapshot } from '../../cluster/cluster-snapshot';
import type { Objects } from '../../cluster/objects';
import { formatAddress, type ListenAddress, listen } from '../../lib/http-listen';
import { closeServer } from '../../lib/http-server';
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

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1']);
/** A name of this machine itself, with or without a port. */
const LOOPBACK_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;

/**
 * Serves what the router sees and why it decided as it did. It has no authentication, and is for people on the machine: it listens on
 * loopback alone, and a web page that gave loopback a name of its own gets nothing.
 *
 * @throws KvasirError `listen/not-loopback`, and those of `listen`.
 */
export async function startDebugServer(options: DebugOptions): Promise<RunningServer> {
  const { objects, endpoints, ring, address } = options;
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
  await app.ready();
  const bound = await listen(app.server, address, '--debug-listen');
  return { address: bound, close: () => closeServer(app.server, 1_000) };
}
