import type { ExternalModelProvider } from '../../../src/api/external-model-provider';
import { describeObject, keyOf } from '../../../src/api/meta';
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
import { ProviderClients, type ProviderClientsOptions } from './provider-clients';
import { providerCredential } from './provider-credential';

export type NextProviderAttempt =
  | { readonly kind: 'attempt'; readonly attempt: Attempt<AttemptEndpoint>; readonly call: UpstreamCall }
  /** The request cannot go to the provider. */
  | { readonly kind: 'none'; readonly reason: 'no-endpoints'; readonly message: string; readonly error: RouterError };

export interface ProviderAttemptsOptions extends ProviderClientsOptions {
  readonly cluster: RouterCluster;
  readonly clock: Clock;
}

/** Makes attempts at external providers, and remembers which of them keep failing. */
export class ProviderAttempts {
  private readonly clients: ProviderClients;
  private readonly outliers = new Map<string, OutlierEjection>();
  private readonly stopFollowing: () => void;

  /** @throws KvasirError when the file of authorities cannot be read. */
  constructor(private readonly options: ProviderAttemptsOptions) {
    this.clients = new ProviderClients(options);
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
      return { kind: 'attempt', attempt: new ProviderAttempt(endpoint, this.outlierOf(providerKey), clock), call };
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

  private forgetGone(): void {
    const providers = this.options.cluster.objects.list('ExternalModelProvider');
    this.clients.keep(new Set(providers.map(idOf)));
    const keys = new Set(providers.map(keyOf));
    for (const key of this.outliers.keys()) if (!keys.has(key)) this.outliers.delete(key);
  }
}

function idOf(provider: ExternalModelProvider): string {
  return `${keyOf(provider)}#${provider.metadata.uid ?? ''}`;
}
