const SUFFIX: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};
const QUANTITY = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?$/;

/**
 * Reads a Kubernetes quantity (`16Gi`, `500m`, `1e3`, `0.5`).
 *
 * @returns its value in base units (bytes, cores, count), or undefined when `quantity` is none.
 */
export function parseQuantity(quantity: string | number): number | undefined {
  if (typeof quantity === 'number') return Number.isFinite(quantity) ? quantity : undefined;
  const match = QUANTITY.exec(quantity);
  if (match === null) return undefined;
  if (match[2] !== undefined) return Number(`${match[1]}${match[2]}`);
  return Number(match[1]) * SUFFIX[match[3] ?? '']!;
}

/**
 * Writes a quantity as the API server stores it, so that controllers which rewrite it change nothing: the largest suffix of the
 * value's own family (binary for `Ki`…`Ei`, decimal otherwise) that leaves a whole number.
 *
 * @throws RangeError when `quantity` is no quantity.
 */
export function canonicalQuantity(quantity: string | number): string {
  const value = parseQuantity(quantity);
  if (value === undefined) throw new RangeError(`not a quantity: ${quantity}`);
  if (value === 0) return '0';
  const isBinary = typeof quantity === 'string' && /i$/.test(quantity);
  const suffixes = isBinary ? ['Ei', 'Pi', 'Ti', 'Gi', 'Mi', 'Ki', ''] : ['E', 'P', 'T', 'G', 'M', 'k', '', 'm', 'u', 'n'];
  for (const suffix of suffixes) {
    const count = value / SUFFIX[suffix]!;
    const whole = Math.round(count);
    if (Math.abs(whole) >= 1 && Math.abs(count - whole) < 1e-9 * Math.max(1, Math.abs(count))) return `${whole}${suffix}`;
  }
  return `${Math.ceil(value * 1e9)}n`;
}
