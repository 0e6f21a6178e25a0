import type { RateLimit } from '../../../../src/api/model-route';
import type { BucketSize } from './token-bucket';

/** What is counted. */
export type Quantity = 'input' | 'output' | 'requests';

/** One thing that is limited, for one group of requests. */
export interface Limit {
  /** Name of its bucket, the same in every router. */
  readonly key: string;
  readonly quantity: Quantity;
  readonly size: BucketSize;
  readonly unit: RateLimit['unit'];
  /** How long an unused bucket is kept in Redis. */
  readonly expireSeconds: number;
  /** Whose limit it is, in a few words for the client. */
  readonly owner: string;
}

/** Amounts per unit of time. */
export interface Rates {
  readonly unit: RateLimit['unit'];
  readonly inputTokensPerUnit?: number | undefined;
  readonly outputTokensPerUnit?: number | undefined;
  readonly requestsPerUnit?: number | undefined;
}

/** Seconds of each unit; a month has 30 days, as in Kthena. */
const UNIT_SECONDS: Readonly<Record<RateLimit['unit'], number>> = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  month: 2_592_000,
};

/** Kthena keeps a bucket for three units, within these bounds. */
const MIN_EXPIRE_SECONDS = 600;
const MAX_EXPIRE_SECONDS = 7_776_000;

/** The limits that rates ask for. @param keyOf the bucket's name for a quantity. */
export function limitsOf(rates: Rates, owner: string, keyOf: (quantity: Quantity) => string): readonly Limit[] {
  const seconds = UNIT_SECONDS[rates.unit];
  const expireSeconds = Math.min(MAX_EXPIRE_SECONDS, Math.max(MIN_EXPIRE_SECONDS, 3 * seconds));
  const amounts: readonly (readonly [Quantity, number | undefined])[] = [
    ['requests', rates.requestsPerUnit],
    ['input', rates.inputTokensPerUnit],
    ['output', rates.outputTokensPerUnit],
  ];
  return amounts.flatMap(([quantity, capacity]) =>
    capacity === undefined
      ? []
      : [
          {
            key: keyOf(quantity),
            quantity,
            size: { capacity, refillPerSecond: capacity / seconds },
            unit: rates.unit,
            expireSeconds,
            owner,
          },
        ],
  );
}

/** Milliseconds until a bucket at `level` holds `amount`; infinite when it never will. */
export function msUntil({ size }: Limit, level: number, amount: number): number {
  if (level >= amount) return 0;
  return amount > size.capacity ? Number.POSITIVE_INFINITY : ((amount - level) / size.refillPerSecond) * 1000;
}
