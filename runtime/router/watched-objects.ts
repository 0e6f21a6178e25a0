import type { RouterConfig } from '../../src/config/router-config';
import type { WatchedObjects } from '../cluster/kubernetes';

/** What the router needs of a Kubernetes API. Secrets with API keys that are not named are found by their label, in every namespace. */
export function watchedObjects({ auth, queue }: Pick<RouterConfig, 'auth' | 'queue'>): WatchedObjects {
  const { secrets = [], secretLabel } = auth?.apiKeys ?? {};
  return {
    kinds: ['ModelRoute', 'ModelServer', 'ExternalModelProvider', 'Pod'],
    workloads: queue.wake.enabled,
    wakeRequests: false,
    secrets: {
      names: secrets,
      labels: secretLabel !== undefined && secrets.length === 0 ? [`${secretLabel}=true`] : [],
      ofProviders: true,
    },
  };
}
