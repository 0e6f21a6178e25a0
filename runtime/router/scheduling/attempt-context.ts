import type { Clock } from '../../lib/clock';
import type { Random } from '../../lib/random';
import type { BlockHasher } from '../cache/block-hashes';
import type { PrefixIndex } from '../cache/prefix-index';
import type { DispatchSharing } from '../cache/replication/dispatch-sharing';
import type { TextDensity } from '../cache/text-density';
import type { EndpointRegistry } from '../endpoints/endpoint-registry';
import type { LiveEndpoint } from '../endpoints/live-endpoint';
import type { SchedulingMetrics } from '../observability/scheduling-metrics';
import type { OutputEstimate } from './output-estimate';
import type { Profile } from './profile';

/** What all attempts share. */
export interface AttemptContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly registry: EndpointRegistry;
  readonly index: PrefixIndex;
  readonly hasher: BlockHasher;
  readonly density: TextDensity;
  readonly outputs: OutputEstimate;
  readonly profile: Profile;
  /** Profiles of single ModelRoutes, by `namespace/name`. @default `profile` for all */
  readonly routeProfiles?: ReadonlyMap<string, Profile> | undefined;
  /** Tells sibling routers. @default there are none */
  readonly sharing?: DispatchSharing | undefined;
  /** @default nothing is measured */
  readonly metrics?: SchedulingMetrics | undefined;
  /** The engine told how many tokens a prompt had: the share of `live` in the index may have changed. */
  densityChanged(live: LiveEndpoint, model: string): void;
}
