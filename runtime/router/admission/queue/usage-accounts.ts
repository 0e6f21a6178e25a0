import { lru } from '../../../lib/lru';

/** Parts that a window is remembered in: what leaves it does so in steps of one. */
const PARTS = 60;
/** Accounts that are remembered; the one that was used least recently goes first. */
const MAX_ACCOUNTS = 50_000;

/** What was used lately, by account: amounts of a sliding window. */
export class UsageAccounts {
  private readonly accounts = lru<string, Account>(MAX_ACCOUNTS);
  private readonly partMs: number;

  constructor(windowMs: number) {
    this.partMs = windowMs / PARTS;
  }

  /** @param amount negative where something that was counted then was not used. @param atMs when; what has left the window does not come back. */
  add(account: string, amount: number, atMs: number): void {
    if (amount === 0) return;
    const known = this.accounts.get(account) ?? new Account();
    this.accounts.set(account, known);
    known.add(amount, Math.floor(atMs / this.partMs));
  }

  /** ≥ 0. */
  usage(account: string, nowMs: number): number {
    const known = this.accounts.peek(account);
    return known === undefined ? 0 : known.sum(Math.floor(nowMs / this.partMs) - PARTS);
  }
}

/** Amounts by part, oldest first; only parts in which there was something. */
class Account {
  private readonly parts: number[] = [];
  private readonly amounts: number[] = [];

  add(amount: number, part: number): void {
    let at = this.parts.length - 1;
    while (at >= 0 && this.parts[at]! > part) at -= 1;
    if (at >= 0 && this.parts[at] === part) this.amounts[at]! += amount;
    else if (amount > 0) {
      this.parts.splice(at + 1, 0, part);
      this.amounts.splice(at + 1, 0, amount);
    }
    this.forget((this.parts.at(-1) ?? 0) - PARTS);
  }

  sum(after: number): number {
    this.forget(after);
    let sum = 0;
    for (const amount of this.amounts) sum += amount;
    return sum;
  }

  private forget(upTo: number): void {
    let gone = 0;
    while (gone < this.parts.length && this.parts[gone]! <= upTo) gone += 1;
    if (gone === 0) return;
    this.parts.splice(0, gone);
    this.amounts.splice(0, gone);
  }
}
