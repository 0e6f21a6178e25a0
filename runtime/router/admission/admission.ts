import { RouterError } from '../errors';
import type { Held, Reservations } from '../reservations';

/** Who may be served now. Holds one permit per request that is being served. */
export class Admission {
  private inFlight = 0;

  /** @param isReady whether the view of the cluster is complete enough to choose a pod. @param maxInFlight permits; may be changed at any time. */
  constructor(
    private readonly isReady: () => boolean,
    public maxInFlight: number,
  ) {}

  /** Permits that are out. */
  get permits(): number {
    return this.inFlight;
  }

  /** @throws RouterError `not_ready`, `overloaded`. */
  admit(reservations: Reservations): Held<void> {
    if (!this.isReady()) throw new RouterError('not_ready', 'the router has not seen the whole cluster yet');
    if (this.inFlight >= this.maxInFlight) throw new RouterError('overloaded', `${this.inFlight} requests are being served`);
    this.inFlight += 1;
    return reservations.take<void>(() => {
      this.inFlight -= 1;
    }, undefined);
  }
}
