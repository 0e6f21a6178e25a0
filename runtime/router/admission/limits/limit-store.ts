import type { Limit } from './limit';

/** What a request wants of one bucket. */
export interface Demand {
  readonly limit: Limit;
  /** Must be there. */
  readonly need: number;
  /** Is taken when everything needed is there. */
  readonly take: number;
}

export interface Verdict {
  /** Everything needed was there and was taken; otherwise nothing was. */
  readonly isGranted: boolean;
  /** What each bucket holds afterwards, in the order of the demands. */
  readonly levels: readonly number[];
}

/** An amount that is owed whether it is there or not. */
export interface Charge {
  readonly limit: Limit;
  /** Negative: it is given back. */
  readonly amount: number;
}

/** Where buckets are. */
export interface LimitStore {
  /** Takes from all buckets or from none. It never rejects. */
  take(demands: readonly Demand[]): Verdict | Promise<Verdict>;
  /** Deducts; a bucket may fall below 0 by it. */
  charge(charges: readonly Charge[]): void;
}
