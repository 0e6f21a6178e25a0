import type { WakeRequest, WakeRequests } from '../../cluster/wake-requests';
import { WAKE_LEASE_SECONDS } from '../../cluster/wake-signal';
import type { Clock } from '../../lib/clock';

const LEASE_MS = WAKE_LEASE_SECONDS * 1000;

/**
 * Knows for which targets requests wait. How long ago a lease was renewed is measured on this process's own clock from the moment the
 * renewal was seen, so that routers whose clocks are off are heard; only a lease seen for the first time is taken at its word.
 */
export class WakeWatch {
  private readonly seen = new Map<string, { readonly renewedMs: number; readonly sinceMs: number }>();

  constructor(
    private readonly clock: Clock,
    private readonly requests: WakeRequests,
  ) {}

  /** Targets that requests wait for now, by the cache. */
  waiting(): readonly WakeRequest[] {
    const known = this.requests.list();
    const uids = new Set(known.map(({ uid }) => uid));
    for (const uid of this.seen.keys()) if (!uids.has(uid)) this.seen.delete(uid);
    return known.filter(({ uid, renewedMs }) => this.isLive(uid, renewedMs));
  }

  isWanted(uid: string): boolean {
    const request = this.requests.list().find((known) => known.uid === uid);
    return request !== undefined && this.isLive(uid, request.renewedMs);
  }

  /** Asks the source of truth. @returns why the target may not go to zero now; undefined: it may. */
  async objection(namespace: string, uid: string): Promise<'wanted' | 'unreadable' | undefined> {
    const outcome = await this.requests.read(namespace, uid);
    if (outcome.kind === 'gone') return undefined;
    if (outcome.kind !== 'found') return 'unreadable';
    return this.isLive(uid, outcome.value) ? 'wanted' : undefined;
  }

  changed(listener: () => void): () => void {
    return this.requests.changed(listener);
  }

  private isLive(uid: string, renewedMs: number): boolean {
    const nowMs = this.clock.monotonic();
    const known = this.seen.get(uid);
    if (known?.renewedMs === renewedMs) return nowMs - known.sinceMs < LEASE_MS;
    const sinceMs = known === undefined ? nowMs - Math.max(0, this.clock.now() - renewedMs) : nowMs;
    this.seen.set(uid, { renewedMs, sinceMs });
    return nowMs - sinceMs < LEASE_MS;
  }
}
