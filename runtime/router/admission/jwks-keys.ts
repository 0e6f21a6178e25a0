import { createLocalJWKSet, type JSONWebKeySet, type JWK, type JWTVerifyGetKey } from 'jose';
import type { AuthConfig } from '../../../src/config/auth-config';
import type { Clock, Timer } from '../../lib/clock';
import type { FetchJwks } from './jwks-fetch';

/** The keys of one successful fetch. */
export interface KeySet {
  /** Finds the key that a token's head asks for. */
  readonly find: JWTVerifyGetKey;
  has(kid: string): boolean;
}

/** How a fetch ended, for metrics and log. */
export type FetchOutcome =
  | { readonly kind: 'fetched'; readonly isChanged: boolean }
  | { readonly kind: 'failed'; readonly reason: string };

export interface JwksKeysOptions {
  readonly fetch: FetchJwks;
  readonly clock: Clock;
  readonly config: Pick<AuthConfig['jwks'], 'refreshMs' | 'minRefreshMs' | 'timeoutMs'>;
  readonly onFetch: (outcome: FetchOutcome) => void;
}

/** Waits after the first, second, … failure in a row; the last one repeats. */
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000] as const;

/**
 * The issuer's keys: fetched at the start and every `refreshMs`, and when a token has an unknown `kid`, then at most once in
 * `minRefreshMs`. When a fetch fails, the keys of the last one stay, and it is tried again soon.
 */
export class JwksKeys {
  private keys: KeySet | undefined;
  private content = '';
  private fetching: Promise<void> | undefined;
  private lastFetchMs = Number.NEGATIVE_INFINITY;
  private failures = 0;
  private timer: Timer | undefined;
  private readonly closing = new AbortController();

  constructor(private readonly options: JwksKeysOptions) {
    void this.refresh();
  }

  /** Undefined before the first fetch that succeeded. */
  get current(): KeySet | undefined {
    return this.keys;
  }

  /** The keys at hand, or those of the fetch under way when there are none yet. */
  async first(): Promise<KeySet | undefined> {
    if (this.keys === undefined) await this.fetching;
    return this.keys;
  }

  /** Asks for newer keys because a token has a `kid` that is not among them, unless that was done a short while ago. */
  async renew(): Promise<KeySet | undefined> {
    const { clock, config } = this.options;
    if (this.fetching !== undefined) await this.fetching;
    else if (clock.monotonic() - this.lastFetchMs >= config.minRefreshMs) await this.refresh();
    return this.keys;
  }

  close(): void {
    this.timer?.cancel();
    this.closing.abort();
  }

  /** Never rejects. Of calls at one time only one fetches. */
  private refresh(): Promise<void> {
    this.fetching ??= this.fetchOnce().finally(() => {
      this.fetching = undefined;
    });
    return this.fetching;
  }

  private async fetchOnce(): Promise<void> {
    const { clock, config, onFetch } = this.options;
    this.timer?.cancel();
    this.lastFetchMs = clock.monotonic();
    const late = new AbortController();
    const deadline = clock.after(config.timeoutMs, () => late.abort(new Error(`no answer in ${config.timeoutMs} ms`)));
    try {
      const isChanged = this.take(await this.options.fetch(AbortSignal.any([late.signal, this.closing.signal])));
      this.failures = 0;
      onFetch({ kind: 'fetched', isChanged });
    } catch (error) {
      if (this.closing.signal.aborted) return;
      this.failures += 1;
      onFetch({ kind: 'failed', reason: reasonOf(error) });
    } finally {
      deadline.cancel();
    }
    if (this.closing.signal.aborted) return;
    const retryMs = RETRY_MS[Math.min(this.failures, RETRY_MS.length) - 1] ?? config.refreshMs;
    this.timer = clock.after(Math.min(retryMs, config.refreshMs), () => void this.refresh());
  }

  /** @returns whether the keys differ from those before. @throws Error when the document has none that can be used. */
  private take(document: unknown): boolean {
    const all: unknown = (document as { readonly keys?: unknown } | null)?.keys;
    if (!Array.isArray(all)) throw new Error('the document has no list of keys');
    const usable = all.filter(isUsable);
    if (usable.length === 0) throw new Error('the document has no public key with a kid');
    const content = JSON.stringify(usable);
    if (content === this.content) return false;
    const kids = new Set(usable.map(({ kid }) => kid));
    this.keys = { find: createLocalJWKSet({ keys: usable } satisfies JSONWebKeySet), has: (kid) => kids.has(kid) };
    this.content = content;
    return true;
  }
}

/** Shared secrets have no place among public keys, and a key without a name can be asked for by no token. */
function isUsable(key: unknown): key is JWK & { readonly kid: string } {
  const { kid, kty } = (key ?? {}) as { readonly kid?: unknown; readonly kty?: unknown };
  return typeof kid === 'string' && typeof kty === 'string' && kty !== 'oct';
}

/** undici keeps what went wrong in `cause`. */
function reasonOf(error: unknown): string {
  const cause = (error as { readonly cause?: unknown } | null)?.cause ?? error;
  return cause instanceof Error ? cause.message : String(cause);
}
