import type { Clock } from '../../lib/clock';
import type { EndpointListener, EndpointRegistry } from './endpoint-registry';
import type { LiveEndpoint } from './live-endpoint';
import type { PdPool } from './pd-pool';
import { hasRoom, msUntilRoom } from './room';

/** Whether a pool may take one more request now; `nobody` when it has no pod that is ready. */
export type RoomState = 'free' | 'full' | 'nobody';

/**
 * Room in pods for requests that wait in the router. A pool is a ModelServer, as `namespace/name`, and where a request is bound to one of
 * its pods that endpoint's id.
 */
export interface Rooms {
  state(modelServer: string, only?: string): RoomState;
  /** Milliseconds until a full pool has room if nothing is heard of it; undefined when only an answer's end makes room. */
  msUntilRoom(modelServer: string, only?: string): number | undefined;
  /** Least milliseconds until a pod has prefilled what it has; 0 when there is none. */
  backlogMs(modelServer: string, only?: string): number;
  /** Uncached prompt tokens per second of all pods together. */
  prefillTokensPerSecond(modelServer: string, only?: string): number;
  /**
   * Calls `listener` with the ModelServers whose pods may have got room; undefined for all of them. It may be called in the middle of a
   * decision or a settlement, and must put off what it does. @returns a function that ends it.
   */
  watch(listener: (modelServers: readonly string[] | undefined) => void): () => void;
}

const NOBODY: readonly LiveEndpoint[] = [];
const NO_PREFILLERS: PdPool['prefill'] = [];

/** Rooms over the live view of pods. Nothing is told while nobody listens. */
export class PodRooms implements Rooms, EndpointListener {
  private readonly listeners = new Set<(modelServers: readonly string[] | undefined) => void>();

  /** @param registry is given late, since it is made with its listeners. @param maxSequences bound below the engines' own. */
  constructor(
    private readonly registry: () => EndpointRegistry,
    private readonly clock: Clock,
    private readonly maxSequences: number,
  ) {}

  state(modelServer: string, only?: string): RoomState {
    const nowMs = this.clock.monotonic();
    let state: RoomState = 'nobody';
    let ejected = false;
    for (const live of this.registry().pool(modelServer) ?? NOBODY) {
      if (!mayServe(live, only)) continue;
      if (live.outlier.ejectedSinceMs(nowMs) !== undefined) ejected = true;
      else if (hasRoom(live, nowMs, this.maxSequences)) return this.mayPrefill(modelServer, only, nowMs) ? 'free' : 'full';
      else state = 'full';
    }
    // Where all are ejected, one of them is a better answer than none.
    return state === 'nobody' && ejected ? 'free' : state;
  }

  /** Whether the pods that prefill for others, where there are such, have room. */
  private mayPrefill(modelServer: string, only: string | undefined, nowMs: number): boolean {
    const ready = this.prefillers(modelServer).filter(({ live }) => live.isAvailable);
    return only !== undefined || ready.length === 0 || ready.some(({ live }) => hasRoom(live, nowMs, this.maxSequences));
  }

  private prefillers(modelServer: string): PdPool['prefill'] {
    return this.registry().pdPool(modelServer)?.prefill ?? NO_PREFILLERS;
  }

  msUntilRoom(modelServer: string, only?: string): number | undefined {
    const nowMs = this.clock.monotonic();
    let least: number | undefined;
    for (const live of this.members(modelServer)) {
      if (!mayServe(live, only)) continue;
      const ms = msUntilRoom(live, nowMs, this.maxSequences);
      // One that has room already is of no use to whoever asks.
      if (ms !== undefined && ms > 0 && (least === undefined || ms < least)) least = ms;
    }
    return least;
  }

  backlogMs(modelServer: string, only?: string): number {
    const nowMs = this.clock.monotonic();
    let least = Number.POSITIVE_INFINITY;
    for (const live of this.registry().pool(modelServer) ?? NOBODY) {
      if (!mayServe(live, only)) continue;
      const rate = live.rates.prefillTokensPerSecond(nowMs);
      least = Math.min(least, (1000 * live.ledger.queuedTokens(nowMs, rate)) / rate);
    }
    return Number.isFinite(least) ? least : 0;
  }

  prefillTokensPerSecond(modelServer: string, only?: string): number {
    const nowMs = this.clock.monotonic();
    let rate = 0;
    for (const live of this.registry().pool(modelServer) ?? NOBODY) {
      if (mayServe(live, only)) rate += live.rates.prefillTokensPerSecond(nowMs);
    }
    return rate;
  }

  private members(modelServer: string): readonly LiveEndpoint[] {
    const pool = this.registry().pool(modelServer) ?? NOBODY;
    const prefillers = this.prefillers(modelServer);
    return prefillers.length === 0 ? pool : [...pool, ...prefillers.map(({ live }) => live)];
  }

  watch(listener: (modelServers: readonly string[] | undefined) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Something of the endpoint was released, or news of it came. */
  changed(live: LiveEndpoint): void {
    if (this.listeners.size === 0) return;
    const servers = this.registry().poolsOf(live);
    for (const listener of this.listeners) listener(servers);
  }

  /** Pods, or what they serve, changed. */
  updated(): void {
    for (const listener of this.listeners) listener(undefined);
  }

  added(live: LiveEndpoint): void {
    live.ledger.released = () => this.changed(live);
  }

  removed(live: LiveEndpoint): void {
    live.ledger.released = undefined;
  }

  restarted(live: LiveEndpoint): void {
    this.changed(live);
  }
}

function mayServe({ isAvailable, endpoint }: LiveEndpoint, only: string | undefined): boolean {
  return isAvailable && (only === undefined || endpoint.id === only);
}
