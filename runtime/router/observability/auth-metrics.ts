import type { Metrics } from '../../lib/metrics';
import type { RouterErrorCode } from '../errors';

/** Metrics of authentication; a router without it has none of them. */
export class AuthMetrics {
  private readonly refusals;
  private readonly fetches;
  private readonly fetchedAt;
  private readonly keys;

  constructor(metrics: Metrics) {
    this.refusals = metrics.counter('kvasir_router_authentication_refusals_total', 'Requests refused for their credentials.', [
      'code',
    ]);
    this.fetches = metrics.counter('kvasir_router_jwks_fetches_total', 'Fetches of the keys that sign tokens.', ['outcome']);
    this.fetchedAt = metrics.gauge(
      'kvasir_router_jwks_last_success_timestamp_seconds',
      'When the keys that sign tokens were last fetched.',
    );
    this.keys = metrics.gauge('kvasir_router_api_keys', 'API keys that can be used.');
  }

  refused(code: RouterErrorCode): void {
    this.refusals.with(code).add(1);
  }

  /** @param atMs epoch. */
  fetched(outcome: 'fetched' | 'failed', atMs: number): void {
    this.fetches.with(outcome).add(1);
    if (outcome === 'fetched') this.fetchedAt.with().set(Math.round(atMs / 1000));
  }

  /** No tokens are taken any more, so that the age of their keys says nothing. */
  withoutTokens(): void {
    this.fetchedAt.clear();
  }

  apiKeys(count: number): void {
    this.keys.with().set(count);
  }
}
