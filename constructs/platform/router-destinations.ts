import type { IConstruct } from 'constructs';
import type { ExternalModelProviderManifest } from '../../src/api/external-model-provider';
import type { KubeObject } from '../../src/api/meta';
import type { ModelRouteManifest } from '../../src/api/model-route';
import type { NetworkPeer } from '../kube/network-policy';
import { ModelRoute } from '../model-route';
import { ExternalRedis } from './external-redis';
import { type Destination, destinationOf, hostPortOf } from './network-destination';
import { addresses, PRIVATE_RANGES, tcp } from './network-flows';
import { constructsUnder, namespaceOf } from './network-peers';
import { Redis } from './redis';
import type { Router } from './router';

/** Redis of somebody else: that of `router`, and those that routes count in. */
export function externalRedis(router: Router, root: IConstruct, objects: readonly KubeObject[]): readonly Destination[] {
  const own = new Set(constructsUnder(root, Redis).map(({ address }) => address));
  const given = [router.redis, ...constructsUnder(root, ModelRoute).map(({ sharedIn }) => sharedIn)];
  const external = new Map(given.flatMap((each) => (each instanceof ExternalRedis ? [[each.address, each] as const] : [])));
  const addressed = [router.redis?.address, ...objects.map(sharedCounters)].flatMap((address) => address ?? []);
  return [...new Set(addressed)]
    .filter((address) => !own.has(address))
    .sort()
    .flatMap((address): readonly Destination[] => {
      const host = hostPortOf(address);
      if (host === undefined) return [];
      const cidrs = external.get(address)?.cidrs;
      if (cidrs === undefined) return [destinationOf(host, namespaceOf(router), objects, addresses(PRIVATE_RANGES))];
      return [{ to: addresses(cidrs), ...(host.port === undefined ? {} : { ports: tcp(host.port) }) }];
    });
}

/** Providers, the keys of who issues tokens, the collector of traces, and the guardrail. @param elsewhere where those are that are not in the cluster. */
export function outsideOf(
  router: Router,
  objects: readonly KubeObject[],
  elsewhere: readonly NetworkPeer[],
): readonly Destination[] {
  const providers = objects.flatMap((object) =>
    object.kind === 'ExternalModelProvider' ? [(object as ExternalModelProviderManifest).spec.baseURL] : [],
  );
  const { auth, tracing, guardrail } = router.config;
  const urls = [...new Set([auth?.jwksUri ?? '', tracing.endpoint ?? '', guardrail?.url ?? '', ...providers])].sort();
  return urls.flatMap((url) => {
    const host = url === '' ? undefined : hostPortOf(url);
    return host === undefined ? [] : [destinationOf(host, namespaceOf(router), objects, elsewhere)];
  });
}

/** Address of the Redis in which a route counts. */
function sharedCounters(object: KubeObject): string | undefined {
  return object.kind === 'ModelRoute' ? (object as ModelRouteManifest).spec.rateLimit?.global?.redis?.address : undefined;
}
