import type { SimulatedFleet, SimulatedPod } from '../simulated-fleet';

/** Scrapes that are kept: the newest, and those that Prometheus has by then. */
const KEPT = 4;
/** Who asks pods sees what they said one scrape ago; who asks Prometheus sees what it had 30 s before that. */
export const POD_AGE = 1;
export const PROMETHEUS_AGE = 3;

/** What the metrics pages of all pods said, every 15 seconds; every strategy sees them equally late. */
export class LoadPages {
  private readonly pages = new Map<SimulatedPod, (string | undefined)[]>();

  constructor(private readonly fleet: SimulatedFleet) {}

  scrape(): void {
    const alive = new Set(this.fleet.pods);
    for (const pod of this.pages.keys()) if (!alive.has(pod)) this.pages.delete(pod);
    for (const pod of alive) {
      const page = pod.phase === 'starting' ? undefined : pod.engine.loadPage();
      this.pages.set(pod, [page, ...(this.pages.get(pod) ?? [])].slice(0, KEPT));
    }
  }

  /** @param age in scrapes. @returns undefined where the pod did not serve by then. */
  of(pod: SimulatedPod, age: number): string | undefined {
    return this.pages.get(pod)?.[age];
  }
}
