import type { Endpoint } from './endpoint';
import type { EngineCapacity } from './engine-capacity';
import { InFlightLedger } from './in-flight-ledger';
import { LearnedRates } from './learned-rates';
import { OutlierEjection } from './outlier-ejection';
import { ScrapedState } from './scraped-state';

const NO_ADAPTERS: readonly string[] = [];
/** No engine has slots for more. */
const MOST_ADAPTERS = 64;

/** Everything the router knows of one endpoint. It lives as long as the pod object does, through phases of not being ready. */
export class LiveEndpoint {
  readonly ledger = new InFlightLedger();
  readonly outlier = new OutlierEjection();
  readonly rates: LearnedRates;
  /** Requests in flight there of routers that this one hears of through a shared counter alone. */
  elsewhere = 0;
  private state = new ScrapedState();
  private gone = false;
  private listed: ReadonlySet<string> | undefined;
  private adapters: readonly string[] = NO_ADAPTERS;

  constructor(
    readonly endpoint: Endpoint,
    private limits: EngineCapacity,
    private available: boolean,
  ) {
    this.rates = new LearnedRates(limits);
  }

  /** Ready, with no deletion asked for and no drain mark: it may get new work. */
  get isAvailable(): boolean {
    return this.available;
  }

  /** The pod is gone, and its slot may be another's. */
  get isGone(): boolean {
    return this.gone;
  }

  get capacity(): EngineCapacity {
    return this.limits;
  }

  get scraped(): ScrapedState {
    return this.state;
  }

  /** Tokens of KV cache: what the engine says, else what its flags and GPU let expect. */
  get kvCapacityTokens(): number {
    return this.state.kvCapacityTokens ?? this.limits.kvCapacityTokens;
  }

  /** Models and adapters that its engine lists; undefined where it was not asked, or has not answered yet. */
  get models(): ReadonlySet<string> | undefined {
    return this.listed;
  }

  setModels(models: ReadonlySet<string> | undefined): void {
    this.listed = models;
  }

  /** Adapters that this router sent requests for, the last one first: what the engine has at hand, as far as its slots go. */
  get recentAdapters(): readonly string[] {
    return this.adapters;
  }

  adapterUsed(adapter: string): void {
    if (this.adapters[0] === adapter) return;
    this.adapters = [adapter, ...this.adapters.filter((each) => each !== adapter)].slice(0, MOST_ADAPTERS);
  }

  setAvailable(isAvailable: boolean): void {
    this.available = isAvailable;
  }

  setCapacity(capacity: EngineCapacity): void {
    this.limits = capacity;
    this.rates.setSeed(capacity);
  }

  leave(): void {
    this.available = false;
    this.gone = true;
  }

  /** The engine's process began anew: what it held and how it did are gone, what is in flight to it is not. */
  restarted(): void {
    this.state = new ScrapedState();
    this.rates.reset();
    this.listed = undefined;
    this.adapters = NO_ADAPTERS;
  }
}
