import type { Reservations } from '../reservations';

/** Bytes of request bodies that may be held at one time, over all requests. */
export class BodyBudget {
  private used = 0;

  /** @param limitBytes may be changed at any time; what was taken stays taken. */
  constructor(public limitBytes: number) {}

  get usedBytes(): number {
    return this.used;
  }

  /** Takes bytes until the request is over. @returns whether they were to be had. */
  take(bytes: number, reservations: Reservations): boolean {
    if (this.used + bytes > this.limitBytes) return false;
    this.used += bytes;
    reservations.take<void>(() => {
      this.used -= bytes;
    }, undefined);
    return true;
  }
}
