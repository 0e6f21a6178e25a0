import { readFile } from 'node:fs/promises';
import type { RouterConfig } from '../../../../src/config/router-config';
import { KvasirError } from '../../../../src/errors';
import type { Clock } from '../../../lib/clock';
import { parseListenAddress } from '../../../lib/http-listen';
import type { Logger } from '../../../lib/logger';
import type { Metrics } from '../../../lib/metrics';
import type { Redis } from '../../../lib/redis';
import { ReplicationMetrics } from '../../observability/replication-metrics';
import { ClusterKey } from './cluster-key';
import { DirectTransport } from './direct-transport';
import { RedisTransport } from './redis-transport';
import type { ReplicationLink } from './replication';

export interface OpenReplicationOptions {
  readonly config: Pick<RouterConfig, 'replication' | 'redis'>;
  readonly redis: Redis;
  /** The wall's. */
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/**
 * Makes ready what the configuration asks for: through Redis, or directly where it says where the others are.
 *
 * @returns undefined when it asks for nothing. @throws KvasirError when the secret cannot be read or is too short, or the address cannot
 * be had.
 */
export async function openReplication(options: OpenReplicationOptions): Promise<ReplicationLink | undefined> {
  const { config, redis, clock, log } = options;
  const { replication } = config;
  if (replication === undefined) return undefined;
  const key = new ClusterKey(await secretOf(replication.secretFile));
  const metrics = new ReplicationMetrics(options.metrics);
  const { siblings } = replication;
  if (siblings !== undefined) {
    const listen = parseListenAddress(replication.listen, 'replication.listen');
    const transport = await DirectTransport.open({ key, listen, siblings, clock, metrics, log });
    return { key, transport, wireClock: clock, metrics };
  }
  const { own: connection } = redis;
  // The configuration is refused without one.
  if (connection === undefined || config.redis === undefined) return undefined;
  const transport = new RedisTransport({ connection, config: config.redis, clock, group: key.group });
  return { key, transport, wireClock: clock, metrics };
}

/** A line break at the end is the editor's. */
async function secretOf(file: string): Promise<Buffer> {
  try {
    return Buffer.from((await readFile(file, 'latin1')).replace(/\r?\n$/, ''), 'latin1');
  } catch (error) {
    throw new KvasirError(
      {
        code: 'replication/secret',
        field: 'replication.secretFile',
        message: `cannot be read (${error instanceof Error ? error.message : String(error)})`,
        remedy: 'name a file with the secret that all router replicas share',
      },
      { cause: error },
    );
  }
}
