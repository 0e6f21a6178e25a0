import type { EndpointListener } from '../endpoints/endpoint-registry';
import type { LiveEndpoint } from '../endpoints/live-endpoint';
import type { PrefixIndex } from './prefix-index';
import type { TextDensity } from './text-density';

/** Keeps each pod's share of the prefix index as large as its KV cache, and empty when the pod's cache is. */
export class PodShares implements EndpointListener {
  /** What each pod was last seen to serve. */
  private readonly models = new WeakMap<LiveEndpoint, string>();

  constructor(
    private readonly index: PrefixIndex,
    private readonly density: TextDensity,
  ) {}

  added(live: LiveEndpoint): void {
    this.refresh(live);
  }

  removed({ endpoint }: LiveEndpoint): void {
    this.index.purge(endpoint.slot);
  }

  restarted(live: LiveEndpoint): void {
    this.index.purge(live.endpoint.slot);
    this.refresh(live);
  }

  /** The pod answered a request for this model, so the density of its text may have changed. */
  answered(live: LiveEndpoint, model: string): void {
    this.models.set(live, model);
    this.refresh(live);
  }

  /** Call when the capacity may have changed. */
  refresh(live: LiveEndpoint): void {
    if (live.isGone) return;
    const model = this.models.get(live) ?? '';
    this.index.setShare(live.endpoint.slot, live.kvCapacityTokens * this.density.bytesPerToken(model));
  }
}
