/**
 * Text of a JSON value as Go's `fmt.Sprint` writes it, which is how Kthena turns engine settings into arguments: numbers from a million
 * on have an exponent, maps and lists are in Go's own notation, null is `<nil>`.
 */
export function goPrint(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (typeof value === 'number') return goFloat(value);
  if (Array.isArray(value)) return `[${value.map(goPrint).join(' ')}]`;
  if (typeof value === 'object') {
    const entries = Object.entries(value).sort(([a], [b]) => compareBytes(a, b));
    return `map[${entries.map(([key, inner]) => `${key}:${goPrint(inner)}`).join(' ')}]`;
  }
  return String(value);
}

/** Order of Go's strings: by their UTF-8 bytes. */
export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The shortest digits that read back as the same number, with an exponent where it is below -4 or from 6 on (Go's `%g`). */
function goFloat(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [digits, exponent] = value.toExponential().split('e') as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
