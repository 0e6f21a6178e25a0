import type { Clock, Timer } from '../../runtime/lib/clock';
import { seededRandom } from '../../runtime/lib/random';

/** Requests on the mean; lengths are exponential. */
export interface PoissonTraffic {
  /** Per second, at a time of the clock. */
  readonly rate: (atMs: number) => number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** Requests that arrive independently of each other, as from many users. */
export class PoissonArrivals {
  private readonly random;
  private timer: Timer | undefined;

  /** @param arrive told of each request, at its time. */
  constructor(
    private readonly clock: Clock,
    public traffic: PoissonTraffic,
    seed: number,
    private readonly arrive: (promptTokens: number, outputTokens: number) => void,
  ) {
    this.random = seededRandom(seed);
    this.next();
  }

  end(): void {
    this.timer?.cancel();
  }

  private next(): void {
    const rate = this.traffic.rate(this.clock.monotonic());
    this.timer = this.clock.after((1000 * this.exponential()) / Math.max(rate, 1e-6), () => {
      this.arrive(this.length(this.traffic.promptTokens), this.length(this.traffic.outputTokens));
      this.next();
    });
  }

  private length(mean: number): number {
    return Math.min(16_000, Math.max(1, Math.round(mean * this.exponential())));
  }

  private exponential(): number {
    return -Math.log(1 - this.random.next());
  }
}
