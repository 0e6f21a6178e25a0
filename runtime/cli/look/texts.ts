/** What stands for a value that nobody told. */
export const UNKNOWN = '–';

/** Time since an RFC 3339 timestamp, as kubectl writes ages: `42s`, `5m`, `3h`, `12d`. */
export function ageText(since: string | undefined, now: string): string {
  const seconds = Math.floor((Date.parse(now) - Date.parse(since ?? '')) / 1000);
  if (Number.isNaN(seconds)) return UNKNOWN;
  if (seconds < 120) return `${Math.max(0, seconds)}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

/** `0.25` as `25 %`. */
export function shareText(share: number): string {
  const percent = 100 * share;
  return `${Number.isInteger(percent) ? percent : percent.toFixed(1)} %`;
}

/** A duration for people. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** `1 pod`, `2 pods`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/**
 * A line broken between words so that it fits, its further lines indented. Columns of tables, which have more than one blank between them,
 * are not broken.
 *
 * @param width undefined: not broken.
 */
export function wrapped(line: string, indent: number, width: number | undefined): readonly string[] {
  if (width === undefined || line.length <= width) return [line];
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const cut = lastSingleBlank(rest, width);
    if (cut <= indent) break;
    lines.push(rest.slice(0, cut));
    rest = `${' '.repeat(indent)}${rest.slice(cut + 1)}`;
  }
  return [...lines, rest];
}

function lastSingleBlank(line: string, width: number): number {
  for (let at = Math.min(width, line.length - 1); at > 0; at--) {
    if (line[at] === ' ' && line[at - 1] !== ' ' && line[at + 1] !== ' ') return at;
  }
  return -1;
}
