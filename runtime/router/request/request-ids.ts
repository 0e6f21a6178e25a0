import { randomBytes } from 'node:crypto';

/**
 * Ids that no other router makes and nobody can guess one another from: 96 random bits, drawn anew every thousand ids, and a counter.
 * A UUID for each request and attempt would cost more than the rest of their heads.
 */
export class RequestIds {
  private prefix = '';
  private next = 0;

  make(): string {
    if (this.next % 1_000 === 0) this.prefix = randomBytes(12).toString('hex');
    this.next += 1;
    return `${this.prefix}-${this.next.toString(36)}`;
  }
}
