import type { Finding } from '../../src/errors';
import type { Replicas } from '../replicas';

/** Bounds of prefill replicas ÷ decode replicas, both included. */
export interface PdRatio {
  /** Smallest quotient, at least 0. */
  readonly min: number;
  /** Greatest quotient, above 0. */
  readonly max: number;
}

/** @throws RangeError when it is no range of ratios. */
export function checkedRatio({ min, max }: PdRatio): PdRatio {
  if (Number.isFinite(min) && Number.isFinite(max) && min >= 0 && max > 0 && min <= max) return { min, max };
  throw new RangeError(`PDGroup: ratio { min: ${min}, max: ${max} } is no range; use 0 ≤ min ≤ max and max > 0`);
}

/** What is wrong between a ratio, the bounds of both roles, and who scales them. `isKept`: the scaler keeps the ratio by itself. */
export function ratioFindings(
  ratio: PdRatio | undefined,
  prefill: Replicas,
  decode: Replicas,
  isKept: boolean,
): readonly Finding[] {
  return [
    ...zeroFindings(prefill, decode, isKept),
    ...(ratio === undefined ? [] : boundFindings(ratio, prefill, decode, isKept)),
  ];
}

function zeroFindings(prefill: Replicas, decode: Replicas, isKept: boolean): readonly Finding[] {
  const roles = [
    ['prefill', prefill],
    ['decode', decode],
  ] as const;
  const atZero = roles.filter(([, { min }]) => min === 0);
  if (atZero.length === 0 || (atZero.length === 2 && isKept)) return [];
  const [[role]] = atZero as [(typeof roles)[number]];
  return [
    {
      code: 'pd/scale-to-zero',
      severity: 'error',
      field: `${role}.replicas`,
      message: `${role} may go to zero while ${role === 'prefill' ? 'decode' : 'prefill'} stays, and neither serves alone`,
      remedy:
        atZero.length === 2
          ? "start both at 1, or use workload: 'ModelServing', which goes to zero as one"
          : 'start both at 0, or both at 1',
    },
  ];
}

function boundFindings(ratio: PdRatio, prefill: Replicas, decode: Replicas, isKept: boolean): readonly Finding[] {
  const least = prefill.min / decode.max;
  const greatest = decode.min === 0 ? Number.POSITIVE_INFINITY : prefill.max / decode.min;
  const range = `${ratio.min} to ${ratio.max}`;
  const bounds = `prefill ${boundsText(prefill)} and decode ${boundsText(decode)}`;
  if (least > ratio.max || greatest < ratio.min || !hasPair(ratio, prefill, decode)) {
    return [
      {
        code: 'pd/ratio-impossible',
        severity: 'error',
        field: 'ratio',
        message: `no replicas of ${bounds} have a ratio of ${range}`,
        remedy: 'widen the ratio, or the bounds of a role',
      },
    ];
  }
  if (isKept || (least >= ratio.min && greatest <= ratio.max)) return [];
  return [
    {
      code: 'pd/ratio-not-kept',
      severity: 'warning',
      field: 'ratio',
      message: `each role is scaled by itself, so that ${bounds} may leave the ratio of ${range}`,
      remedy: "use workload: 'ModelServing', whose roles are scaled together, or bounds that leave no other ratio",
    },
  ];
}

/** Whether whole numbers within the bounds meet the ratio; between 1 and 2 decodes there may be none. Zero of both always does. */
function hasPair(ratio: PdRatio, prefill: Replicas, decode: Replicas): boolean {
  if (prefill.min === 0 && decode.min === 0) return true;
  for (let count = Math.max(1, decode.min); count <= decode.max; count++) {
    const from = Math.max(prefill.min, Math.ceil(ratio.min * count - ROUNDING));
    const to = Math.min(prefill.max, Math.floor(ratio.max * count + ROUNDING));
    if (from <= to) return true;
  }
  return false;
}

/** Ratios are decimals such as 0.1; a product that misses a whole number by rounding counts as that number. */
const ROUNDING = 1e-9;

function boundsText({ min, max }: Replicas): string {
  return min === max ? String(min) : `${min} to ${max}`;
}
