import { createHash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { keyOf } from '../../../src/api/meta';
import type { ModelRoute, SessionAffinity, TargetModel } from '../../../src/api/model-route';
import type { RouterConfig } from '../../../src/config/router-config';
import { parseDurationMs } from '../../../src/duration';
import type { Clock } from '../../lib/clock';
import type { SessionMetrics } from '../observability/session-metrics';
import { type SessionInput, sessionNameOf } from './session-source';

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
export class Sessions {
  private readonly places: LRUCache<string, SessionPlace>;
  private readonly ttls = new WeakMap<SessionAffinity, number>();

  constructor(
    clock: Clock,
    private readonly metrics: SessionMetrics,
    { maxEntries }: RouterConfig['sessions'],
  ) {
    this.places = new LRUCache({ max: maxEntries, ttlResolution: 0, perf: { now: () => clock.monotonic() } });
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
    this.places.set(key, { target: sessionTarget(target), endpointId }, { ttl: ttlMs });
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
