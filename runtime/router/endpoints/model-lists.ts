import type { Clock, Timer } from '../../lib/clock';
import type { Endpoint } from './endpoint';
import type { LiveEndpoint } from './live-endpoint';

/** Fetches what one engine lists at `/v1/models`, as JSON. Rejects when there is nothing. */
export type FetchModels = (endpoint: Endpoint, signal: AbortSignal) => Promise<string>;

/** Kthena asks as often as it scrapes; an adapter that was just loaded is found by its route's retries until then. */
const INTERVAL_MS = 2_000;
const TIMEOUT_MS = 2_000;
const CONCURRENCY = 32;

/** Asks engines which adapters they have, as long as there are routes with adapters. */
export class ModelLists {
  private timer: Timer | undefined;
  private isClosed = false;
  private readonly fetching = new Map<LiveEndpoint, AbortController>();

  /** @param wanted the endpoints behind routes with adapters, as they are now. */
  constructor(
    private readonly clock: Clock,
    private readonly fetchModels: FetchModels,
    private readonly wanted: () => readonly LiveEndpoint[],
  ) {}

  /** Call when the endpoints or their routes may have changed: those that were not asked yet are asked at once. */
  update(): void {
    if (this.isClosed) return;
    const wanted = this.wanted();
    if (wanted.length > 0) this.timer ??= this.clock.after(INTERVAL_MS, () => this.tick());
    for (const live of wanted) if (live.models === undefined) this.fetch(live);
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
    for (const controller of this.fetching.values()) controller.abort();
  }

  private tick(): void {
    this.timer = undefined;
    for (const live of this.wanted()) this.fetch(live);
    this.update();
  }

  /** One that still hangs, or for which there is no room now, is asked next time. */
  private fetch(live: LiveEndpoint): void {
    if (this.fetching.has(live) || this.fetching.size >= CONCURRENCY || !live.isAvailable) return;
    const controller = new AbortController();
    this.fetching.set(live, controller);
    const deadline = this.clock.after(TIMEOUT_MS, () => controller.abort());
    this.fetchModels(live.endpoint, controller.signal)
      .then(idsOf)
      // An engine that does not answer keeps what it listed last, as with its metrics.
      .catch(() => live.models)
      .then((models) => {
        deadline.cancel();
        this.fetching.delete(live);
        if (!live.isGone) live.setModels(models);
      });
  }
}

/** @throws SyntaxError for what is no JSON. @returns undefined for JSON that is no list of models. */
function idsOf(page: string): ReadonlySet<string> | undefined {
  const list: unknown = JSON.parse(page);
  if (typeof list !== 'object' || list === null || !('data' in list) || !Array.isArray(list.data)) return undefined;
  return new Set(list.data.map((each: { readonly id?: unknown } | null) => each?.id).filter((id) => typeof id === 'string'));
}
