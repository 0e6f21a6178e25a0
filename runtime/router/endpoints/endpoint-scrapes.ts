import type { Clock } from '../../lib/clock';
import type { EndpointListener } from './endpoint-registry';
import type { LiveEndpoint } from './live-endpoint';
import type { Scraper, ScrapeTarget } from './scraper';

/** Has every endpoint scraped for as long as it exists, and keeps what was found with it. */
export class EndpointScrapes implements EndpointListener {
  private readonly targets = new Map<LiveEndpoint, ScrapeTarget>();

  /** @param scraped called after each try, successful or not. */
  constructor(
    private readonly scraper: Scraper,
    private readonly clock: Clock,
    private readonly scraped: (live: LiveEndpoint) => void,
  ) {}

  added(live: LiveEndpoint): void {
    const target: ScrapeTarget = {
      endpoint: live.endpoint,
      isBusy: () => live.ledger.running > 0,
      scraped: (observation) => {
        const { running: ownRunning, kvTokens: ownKvTokens } = live.ledger;
        live.scraped.succeeded({ atMs: this.clock.monotonic(), observation, ownRunning, ownKvTokens });
        this.scraped(live);
      },
      scrapeFailed: () => {
        live.scraped.failed();
        this.scraped(live);
      },
    };
    this.targets.set(live, target);
    this.scraper.add(target);
  }

  removed(live: LiveEndpoint): void {
    const target = this.targets.get(live);
    if (target !== undefined) this.scraper.remove(target);
    this.targets.delete(live);
  }

  restarted(live: LiveEndpoint): void {
    this.removed(live);
    this.added(live);
  }
}
