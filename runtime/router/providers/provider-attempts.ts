import type { ExternalModelProvider } from '../../../src/api/external-model-provider';
import { describeObject, keyOf } from '../../../src/api/meta';
import type { RouterConfig } from '../../../src/config/router-config';
import type { Finding } from '../../../src/errors';
import type { RouterCluster } from '../../cluster/cluster';
import type { Clock } from '../../lib/clock';
import { OutlierEjection } from '../endpoints/outlier-ejection';
import { RouterError } from '../errors';
import type { UpstreamCall } from '../relay/upstream-call';
import type { MatchedProvider, ReadRequest } from '../request';
import type { Attempt, AttemptEndpoint } from '../scheduling/attempts';
import { ProviderAttempt } from './provider-attempt';
import { ProviderCall } from './provider-call';
import { ProviderChoice } from './provider-choice';
import { ProviderClients, type ProviderClientsOptions } from './provider-clients';
import { providerCredential } from './provider-credential';
import { ProviderLatency } from './provider-latency';

export type NextProviderAttempt =
  | { readonly kind: 'attempt'; readonly attempt: Attempt<AttemptEndpoint>; readonly call: UpstreamCall }
  /** The request cannot go to the provider. */
  | { readonly kind: 'none'; readonly reason: 'no-endpoints'; readonly message: string; readonly error: RouterError };

export interface ProviderAttemptsOptions extends ProviderClientsOptions {
  readonly config: Pick<RouterConfig, 'providers'>;
  readonly cluster: RouterCluster;
  readonly clock: Clock;
}

/** Makes attempts at external providers, and remembers which of them keep failing. */
export class ProviderAttempts {
  private readonly clients: ProviderClients;
  private readonly outliers = new Map<string, OutlierEjection>();
  private readonly latencies = new Map<string, ProviderLatency>();
  /** Which of several providers a request goes to. */
  readonly choice: ProviderChoice;
  private readonly stopFollowing: () => void;

  /** @throws KvasirError when the file of authorities cannot be read. */
  constructor(private readonly options: ProviderAttemptsOptions) {
    this.clients = new ProviderClients(options);
    this.choice = new ProviderChoice({
      ...options,
      latencyOf: (key) => this.latencyOf(key),
      isEjected: (key) => this.isEjected(key),
    });
    this.stopFollowing = options.cluster.objects.changed('ExternalModelProvider', () => this.forgetGone());
  }

  /** Whether requests should go elsewhere where they can. @param key `namespace/name`. */
  isEjected(key: string): boolean {
    return this.outliers.get(key)?.ejectedSinceMs(this.options.clock.monotonic()) !== undefined;
  }

  next(request: ReadRequest, matched: MatchedProvider): NextProviderAttempt {
    const { cluster, clock } = this.options;
    const { provider, providerKey } = matched;
    try {
      // Read for each attempt, so that a changed credential is used at once.
      const credential = providerCredential(provider, cluster.secrets);
      if (credential.kind === 'missing') {
        throw new RouterError('provider_not_ready', `external provider ${providerKey} is not ready`);
      }
      const clients = this.clients.of(provider.spec);
      const nowSeconds = (): number => Math.floor(clock.now() / 1000);
      const call = new ProviderCall({ request, matched, credential, clients, nowSeconds });
      const endpoint = { id: idOf(provider), host: call.url.host, port: call.url.port };
      const { model, streams } = request.parsed;
      const attempt = new ProviderAttempt(endpoint, this.outlierOf(providerKey), clock, {
        answering: (tookMs) => this.latencyOf(providerKey).observe(streams, tookMs, clock.monotonic()),
        completed: (outputTokens) => this.choice.answered(model, outputTokens),
      });
      return { kind: 'attempt', attempt, call };
    } catch (error) {
      if (!(error instanceof RouterError)) throw error;
      return { kind: 'none', reason: 'no-endpoints', message: error.message, error };
    }
  }

  /** Providers that cannot be asked. */
  findings(): readonly Finding[] {
    const { objects, secrets } = this.options.cluster;
    return objects.list('ExternalModelProvider').flatMap((provider): readonly Finding[] => {
      const credential = providerCredential(provider, secrets);
      if (credential.kind !== 'missing') return [];
      const { message, remedy } = credential;
      const place = { object: describeObject(provider), field: 'spec.auth.secretRef' };
      return [{ code: 'routing/provider-not-ready', severity: 'warning', ...place, message, remedy }];
    });
  }

  async close(): Promise<void> {
    this.stopFollowing();
    await this.clients.close();
  }

  private outlierOf(key: string): OutlierEjection {
    let outlier = this.outliers.get(key);
    if (outlier === undefined) {
      outlier = new OutlierEjection();
      this.outliers.set(key, outlier);
    }
    return outlier;
  }

  private latencyOf(key: string): ProviderLatency {
    let latency = this.latencies.get(key);
    if (latency === undefined) {
      latency = new ProviderLatency();
      this.latencies.set(key, latency);
    }
    return latency;
  }

  private forgetGone(): void {
    const providers = this.options.cluster.objects.list('ExternalModelProvider');
    this.clients.keep(new Set(providers.map(idOf)));
    const keys = new Set(providers.map(keyOf));
    for (const map of [this.outliers, this.latencies]) for (const key of map.keys()) if (!keys.has(key)) map.delete(key);
  }
}

function idOf(provider: ExternalModelProvider): string {
  return `${keyOf(provider)}#${provider.metadata.uid ?? ''}`;
}
