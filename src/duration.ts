const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
// Micro sign and Greek mu, escaped: one character beyond Latin-1 doubles the memory that a bundle's source text takes.
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y;

/**
 * Reads a duration as Go writes it (`100ms`, `1m30s`, `-1.5h`, `0`).
 *
 * @returns milliseconds, or undefined when `text` is no duration.
 */
export function parseDurationMs(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const body = /^[+-]/.test(text) ? text.slice(1) : text;
  if (body === '0') return 0;
  let total = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < body.length) {
    const match = PART.exec(body);
    if (match === null) return undefined;
    total += Number(match[1]) * UNIT_MS[match[2]!]!;
  }
  return body === '' ? undefined : sign * total;
}

/** Writes milliseconds as the shortest duration of whole h, m, s and ms, such as `1m30s`; 0 is `0s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  let rest = Math.round(Math.abs(ms));
  let text = ms < 0 ? '-' : '';
  for (const [unit, size] of [
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1000],
    ['ms', 1],
  ] as const) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text;
}
