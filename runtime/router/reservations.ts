/** Something that was taken and must be given back. */
export interface Held<How> {
  /** Gives it back; the first call counts. */
  release(how: How): void;
}

/**
 * Everything that one request took on its way. Permits, ledger entries, body bytes and gauges register how they are given back when
 * they are taken; nothing else in the router decrements anything. `settle` gives back what was not released before, newest first.
 */
export class Reservations {
  private readonly open: Reservation<unknown>[] = [];

  /** @param giveBack must not throw. @param otherwise how it is given back when nobody released it earlier. */
  take<How>(giveBack: (how: How) => void, otherwise: How): Held<How> {
    const reservation = new Reservation(giveBack, otherwise);
    this.open.push(reservation as Reservation<unknown>);
    return reservation;
  }

  settle(): void {
    for (let reservation = this.open.pop(); reservation !== undefined; reservation = this.open.pop()) reservation.settle();
  }
}

class Reservation<How> implements Held<How> {
  private isOpen = true;

  constructor(
    private readonly giveBack: (how: How) => void,
    private readonly otherwise: How,
  ) {}

  release(how: How): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.giveBack(how);
  }

  settle(): void {
    this.release(this.otherwise);
  }
}
