import { type Static, Type } from '@sinclair/typebox';
import type { Finding } from '../errors';
import type { RedisConfig } from './redis-config';

/** `host:port`; an IPv6 address stands in brackets. */
const ADDRESS = '^(\\[[0-9A-Fa-f:.]+\\]|[^\\s:/@\\[\\]]+):[0-9]{1,5}$';

/** How routers of one deployment tell each other what they send where. */
export const replicationSchema = Type.Object(
  {
    secretFile: Type.String({
      minLength: 1,
      description: 'File with the secret that all of them have, at least 16 bytes; read at the start.',
    }),
    siblings: Type.Optional(
      Type.Array(Type.String({ pattern: ADDRESS }), {
        minItems: 1,
        description:
          '`host:port` of the others, or a name that stands for all of them as that of a headless Service does. Absent: they meet in `redis`.',
      }),
    ),
    listen: Type.String({
      pattern: ADDRESS,
      default: '0.0.0.0:9091',
      description: '`host:port` on which this router hears the others, where there are `siblings`.',
    }),
  },
  {
    additionalProperties: false,
    description: 'What routers side by side tell each other. Absent: each knows its own requests only.',
  },
);

export type ReplicationConfig = Static<typeof replicationSchema>;

interface SharedSections {
  readonly replication?: ReplicationConfig;
  readonly redis?: RedisConfig;
  readonly onFlightCounters: boolean;
}

/** What routers are to share, and have no place for. */
export function replicationFindings({ replication, redis, onFlightCounters }: SharedSections): readonly Finding[] {
  const findings: Finding[] = [];
  if (replication !== undefined && replication.siblings === undefined && redis === undefined) {
    findings.push({
      code: 'config/replication',
      severity: 'error',
      field: 'replication',
      message: 'says neither where the others are nor is there a Redis to meet in',
      remedy: 'give `replication.siblings` or `redis`',
    });
  }
  if (onFlightCounters && redis === undefined) {
    findings.push({
      code: 'config/replication',
      severity: 'error',
      field: 'onFlightCounters',
      message: 'is true, and there is no Redis to count in',
      remedy: 'give `redis`',
    });
  }
  return findings;
}
