import type { EndpointListener } from '../../endpoints/endpoint-registry';
import type { LiveEndpoint } from '../../endpoints/live-endpoint';

/** The endpoints that this router knows, by id. */
export class KnownEndpoints implements EndpointListener {
  private readonly byId = new Map<string, LiveEndpoint>();

  /** @param appeared called for each new one. */
  constructor(private readonly appeared: (live: LiveEndpoint) => void) {}

  get(id: string): LiveEndpoint | undefined {
    return this.byId.get(id);
  }

  all(): readonly LiveEndpoint[] {
    return [...this.byId.values()];
  }

  added(live: LiveEndpoint): void {
    this.byId.set(live.endpoint.id, live);
    this.appeared(live);
  }

  removed({ endpoint }: LiveEndpoint): void {
    this.byId.delete(endpoint.id);
  }

  restarted(): void {
    // Its requests end by themselves, and the index is purged by who keeps the shares.
  }
}
