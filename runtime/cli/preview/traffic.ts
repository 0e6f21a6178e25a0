import type { AccessRecord } from '../../router/observability/access-record';
import { summarize } from '../replay/latency-summary';

/** What the router did for one ModelServer. */
export interface ServerTraffic {
  readonly requests: number;
  readonly errors: number;
  /** Share of prompt tokens that engines found in their caches; undefined until an engine told. */
  readonly cacheHit: number | undefined;
  /** Over the last window. */
  readonly ttftP50Ms: number | undefined;
  readonly ttftP90Ms: number | undefined;
}

interface Tally {
  requests: number;
  errors: number;
  cachedTokens: number;
  promptTokens: number;
  /** Time of arrival and TTFT, oldest first. */
  readonly ttfts: { readonly atMs: number; readonly ttftMs: number }[];
}

/** Sums up the router's access records by ModelServer, with first-token times of the last minute. */
export class Traffic {
  private readonly byServer = new Map<string, Tally>();

  /** @param windowMs how long a first-token time counts, in the clock's milliseconds. */
  constructor(
    private readonly nowMs: () => number,
    private readonly windowMs = 60_000,
  ) {}

  add(record: AccessRecord): void {
    const tally = this.tallyOf(record.model_server ?? '');
    tally.requests += 1;
    if (record.status_code >= 400 && record.status_code !== 499) tally.errors += 1;
    if (record.cached_tokens !== undefined && record.input_tokens !== undefined) {
      tally.cachedTokens += record.cached_tokens;
      tally.promptTokens += record.input_tokens;
    }
    if (record.ttft_ms !== undefined) tally.ttfts.push({ atMs: this.nowMs(), ttftMs: record.ttft_ms });
  }

  /** @param server `namespace/name`. */
  of(server: string): ServerTraffic {
    const tally = this.tallyOf(server);
    const oldest = this.nowMs() - this.windowMs;
    while (tally.ttfts.length > 0 && tally.ttfts[0]!.atMs < oldest) tally.ttfts.shift();
    const { p50, p90 } = summarize(tally.ttfts.map(({ ttftMs }) => ttftMs));
    return {
      requests: tally.requests,
      errors: tally.errors,
      cacheHit: tally.promptTokens === 0 ? undefined : tally.cachedTokens / tally.promptTokens,
      ttftP50Ms: Number.isNaN(p50) ? undefined : p50,
      ttftP90Ms: Number.isNaN(p90) ? undefined : p90,
    };
  }

  private tallyOf(server: string): Tally {
    let tally = this.byServer.get(server);
    if (tally === undefined) {
      tally = { requests: 0, errors: 0, cachedTokens: 0, promptTokens: 0, ttfts: [] };
      this.byServer.set(server, tally);
    }
    return tally;
  }
}
