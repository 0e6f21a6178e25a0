import { createHash, randomBytes } from 'node:crypto';
import type { LRUCache } from 'lru-cache';
import { keyOf } from '../../../src/api/meta';
import type { ModelRoute, SessionAffinity, TargetModel } from '../../../src/api/model-route';
import type { RouterConfig } from '../../../src/config/router-config';
import { parseDurationMs } from '../../../src/duration';
import type { Clock } from '../../lib/clock';
import { lru } from '../../lib/lru';
import type { PlaceRecord } from '../cache/replication/place-record';
import type { PlaceTable } from '../cache/replication/place-table';
import type { SessionMetrics } from '../observability/session-metrics';
import { type SessionInput, sessionNameOf } from './session-source';

/** A year, in milliseconds. */
const MOST_TTL_MS = 365 * 86_400_000;

/** Where a session was served last. */
export interface SessionPlace {
  /** The target of its route, by what it names. */
  readonly target: string;
  readonly endpointId: string;
}

/** A request's session. */
export interface SessionUse {
  readonly key: string;
  readonly route: string;
  readonly ttlMs: number;
  /** Where the last request went; undefined for the first one, and after the session was forgotten. */
  readonly place: SessionPlace | undefined;
  /** `Set-Cookie` for a client that has no session yet and is to be given one. */
  readonly cookie: string | undefined;
}

/**
 * Where sessions were served last, for as long as each route remembers them. A session's name is kept as a digest, together with its
 * route and whose it is, so that long names cost no memory and nobody moves somebody else's session.
 */
export class Sessions implements PlaceTable {
  private readonly places: LRUCache<string, SessionPlace>;
  private readonly ttls = new WeakMap<SessionAffinity, number>();
  private tell: ((record: PlaceRecord) => void) | undefined;

  constructor(
    clock: Clock,
    private readonly metrics: SessionMetrics,
    { maxEntries }: RouterConfig['sessions'],
  ) {
    this.places = lru(maxEntries, { ttlResolution: 0, perf: { now: () => clock.monotonic() } });
  }

  /** @returns undefined for a request that names no session, and cannot be given one. */
  find(route: ModelRoute, affinity: SessionAffinity, input: SessionInput): SessionUse | undefined {
    const named = sessionNameOf(affinity, input);
    if (named === undefined && affinity.source !== 'cookie') return undefined;
    const name = named ?? randomBytes(16).toString('base64url');
    const { tenant, user } = input.identity;
    const routeKey = keyOf(route);
    const key = createHash('sha256')
      .update(JSON.stringify([routeKey, tenant, user, name]))
      .digest('base64url');
    return {
      key,
      route: routeKey,
      ttlMs: this.ttlOf(affinity),
      place: this.places.get(key),
      // For the browser's own session: the router forgets by itself.
      cookie: named === undefined ? `${affinity.name}=${name}; Path=/; HttpOnly; SameSite=Lax` : undefined,
    };
  }

  /** An attempt of the session's request goes there: the next one shall too. */
  bind({ key, route, ttlMs, place }: SessionUse, target: TargetModel, endpointId: string): void {
    this.metrics.bound(route, place === undefined ? 'new' : place.endpointId === endpointId ? 'kept' : 'moved');
    const name = sessionTarget(target);
    this.places.set(key, { target: name, endpointId }, { ttl: ttlMs });
    this.tell?.({ kind: 'session', key, ttlMs, target: name, endpoint: endpointId });
  }

  share(tell: (record: PlaceRecord) => void): void {
    this.tell = tell;
  }

  take(record: PlaceRecord): void {
    if (record.kind !== 'session') return;
    const { key, target, endpoint } = record;
    this.places.set(key, { target, endpointId: endpoint }, { ttl: Math.max(1, record.ttlMs) });
  }

  *recent(): Generator<PlaceRecord, undefined> {
    for (const [key, { target, endpointId }] of this.places.entries()) {
      const ttlMs = Math.round(Math.min(MOST_TTL_MS, this.places.getRemainingTTL(key)));
      yield { kind: 'session', key, ttlMs, target, endpoint: endpointId };
    }
    return undefined;
  }

  private ttlOf(affinity: SessionAffinity): number {
    let ttlMs = this.ttls.get(affinity);
    if (ttlMs === undefined) {
      ttlMs = Math.max(1, Math.round(parseDurationMs(affinity.ttl) ?? 0));
      this.ttls.set(affinity, ttlMs);
    }
    return ttlMs;
  }
}

/** What a target is called in a session's place. */
export function sessionTarget({ modelServerName, externalModelProviderName }: TargetModel): string {
  return modelServerName ? `server ${modelServerName}` : `provider ${externalModelProviderName}`;
}

/** The target that a session's place names. */
export function namedTarget(target: string): TargetModel {
  const [kind, name = ''] = target.split(' ');
  return kind === 'server' ? { modelServerName: name, weight: 100 } : { externalModelProviderName: name, weight: 100 };
}
