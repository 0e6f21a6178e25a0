import { type Bounds, clamp } from './rules';

export interface RatioRepair {
  readonly numerator: number;
  readonly denominator: number;
  readonly isAdjusted: boolean;
  /** The bounds leave no way to keep the ratio; the nearest counts are given. */
  readonly isViolated: boolean;
}

/**
 * Brings numerator ÷ denominator within [minRatio, maxRatio] by growing the short side, and by shrinking the long side only where its
 * bounds leave no other way. Both or neither are zero.
 */
export function repairRatio(
  counts: { readonly numerator: number; readonly denominator: number },
  bounds: { readonly numerator: Bounds; readonly denominator: Bounds },
  { minRatio, maxRatio }: { readonly minRatio: number; readonly maxRatio: number },
): RatioRepair {
  const before = { n: clamp(counts.numerator, bounds.numerator), d: clamp(counts.denominator, bounds.denominator) };
  let { n, d } = before;
  if (n === 0 && d > 0) n = clamp(1, bounds.numerator);
  if (d === 0 && n > 0) d = clamp(1, bounds.denominator);
  if (n > 0 || d > 0) {
    if (n < minRatio * d) {
      const grown = ceil(minRatio * d);
      n = Math.min(grown, bounds.numerator.max);
      if (grown > n) d = clamp(floor(n / minRatio), bounds.denominator);
    } else if (n > maxRatio * d) {
      if (maxRatio <= 0) n = clamp(0, bounds.numerator);
      else {
        const grown = ceil(n / maxRatio);
        d = Math.min(grown, bounds.denominator.max);
        if (grown > d) n = clamp(floor(maxRatio * d), bounds.numerator);
      }
    }
  }
  const isZero = n === 0 && d === 0;
  return {
    numerator: n,
    denominator: d,
    isAdjusted: n !== before.n || d !== before.d,
    isViolated: !isZero && (d === 0 || n === 0 || n < minRatio * d - ROUNDING || n > maxRatio * d + ROUNDING),
  };
}

/** Ratios are decimals such as 0.1; a product that misses a whole number by rounding counts as that number. */
const ROUNDING = 1e-9;
const ceil = (value: number): number => Math.ceil(value - ROUNDING);
const floor = (value: number): number => Math.floor(value + ROUNDING);
