import { type AuthConfig, authFindings } from '../../../src/config/auth-config';
import { type Finding, findingLine } from '../../../src/errors';
import type { Secrets } from '../../cluster/cluster';
import type { Clock } from '../../lib/clock';
import { type Logger, logFindings } from '../../lib/logger';
import type { Metrics } from '../../lib/metrics';
import { RouterError } from '../errors';
import { AuthMetrics } from '../observability/auth-metrics';
import type { RequestHead } from '../request';
import { ApiKeys } from './api-keys';
import { ANONYMOUS, type Identity } from './identity';
import { httpJwksFetcher } from './jwks-fetch';
import { JwksKeys } from './jwks-keys';
import { JwtVerifier } from './jwt-verifier';

export interface AuthenticationOptions {
  readonly auth: AuthConfig | undefined;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Tells who asks, from headers alone, before any body is read. */
export interface Authentication {
  /**
   * At once, except for a token that was not seen before.
   *
   * @throws RouterError (or rejects with it) `missing_credentials`, `invalid_api_key`, `invalid_token`, `auth_unavailable`.
   */
  readonly authenticate: (head: Pick<RequestHead, 'headers'>) => Identity | Promise<Identity>;
  /** Whether anybody can be let in: with tokens alone, not before the issuer's keys were fetched once. */
  isReady(): boolean;
  findings(): readonly Finding[];
  close(): void;
}

/** Without tokens and keys in the configuration everybody may ask, at no cost. */
export function createAuthentication(options: AuthenticationOptions): Authentication {
  const { auth } = options;
  if (auth === undefined || ((auth.jwksUri ?? '') === '' && auth.apiKeys === undefined)) return OPEN;
  const metrics = new AuthMetrics(options.metrics);
  const keys = auth.apiKeys === undefined ? undefined : openKeys(options, auth.apiKeys, metrics);
  const tokens = (auth.jwksUri ?? '') === '' ? undefined : openTokens(options, auth, metrics);
  const keyHeader = auth.apiKeys?.header;
  const refuse = (code: 'missing_credentials' | 'invalid_api_key', what: string): never => {
    metrics.refused(code);
    throw new RouterError(code, what);
  };
  return {
    authenticate: ({ headers }) => {
      const key = keyHeader === undefined ? undefined : headers[keyHeader];
      if (typeof key === 'string') return keys?.find(key) ?? refuse('invalid_api_key', 'nobody has this API key');
      const { authorization } = headers;
      if (authorization === undefined) {
        return auth.required ? refuse('missing_credentials', 'the request has no credentials') : ANONYMOUS;
      }
      const bearer = bearerOf(authorization);
      if (bearer === undefined) return refuse('missing_credentials', 'the Authorization header is no bearer token');
      const known = tokens?.verifier.remembered(bearer) ?? keys?.find(bearer);
      if (known !== undefined) return known;
      if (tokens === undefined) return refuse('invalid_api_key', 'nobody has this API key');
      return tokens.verifier.verify(bearer).catch((error: unknown) => {
        if (error instanceof RouterError) metrics.refused(error.code);
        throw error;
      });
    },
    isReady: () => keys !== undefined || tokens?.keys.current !== undefined,
    findings: () => [...authFindings(auth), ...(keys?.findings() ?? [])],
    close: () => {
      keys?.close();
      tokens?.keys.close();
    },
  };
}

const OPEN: Authentication = {
  authenticate: () => ANONYMOUS,
  isReady: () => true,
  findings: () => [],
  close: () => undefined,
};

function openKeys(
  { secrets, log }: AuthenticationOptions,
  config: NonNullable<AuthConfig['apiKeys']>,
  metrics: AuthMetrics,
): ApiKeys {
  const report = logFindings(log);
  let told: ReadonlySet<string> = new Set();
  return new ApiKeys(secrets, config, (keys) => {
    metrics.apiKeys(keys.size);
    const findings = keys.findings();
    for (const finding of findings) if (!told.has(findingLine(finding))) report(finding);
    told = new Set(findings.map(findingLine));
  });
}

function openTokens({ clock, log }: AuthenticationOptions, auth: AuthConfig, metrics: AuthMetrics) {
  const { jwksUri = '', jwks } = auth;
  const keys = new JwksKeys({
    fetch: httpJwksFetcher(jwksUri, jwks.caFile),
    clock,
    config: jwks,
    onFetch: (outcome) => {
      metrics.fetched(outcome.kind, clock.now());
      const { host } = new URL(jwksUri);
      if (outcome.kind === 'failed') log.warn({ host, reason: outcome.reason }, 'the keys that sign tokens could not be fetched');
      else if (outcome.isChanged) log.info({ host }, 'new keys that sign tokens');
    },
  });
  return { keys, verifier: new JwtVerifier(auth, keys, clock) };
}

/** The token of `Bearer <token>`; the scheme's name in any case. */
function bearerOf(authorization: string): string | undefined {
  return BEARER.exec(authorization)?.[1];
}

const BEARER = /^\s*bearer\s+(\S+)\s*$/i;
