/** Labels as a page writes them, read once. */
export interface SeriesLabels {
  /** The same for the same labels in any order. */
  readonly key: string;
  readonly keyWithoutLe: string;
  readonly le: number | undefined;
}

export const NO_LABELS: SeriesLabels = { key: '[]', keyWithoutLe: '[]', le: undefined };

/** Label sets of all pages together; a fleet has a few hundred, and one that names a request in a label has no end of them. */
const KEPT = 20_000;
const LABEL = /\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?/y;

/** Reads labels, and knows those again that it has read. */
export class LabelReader {
  private readonly known = new Map<string, SeriesLabels>();

  /**
   * @param at of the opening brace. @param end of the line.
   * @returns also where what follows the closing brace begins; undefined where they are not closed.
   */
  read(text: string, at: number, end: number): { readonly labels: SeriesLabels; readonly next: number } | undefined {
    // Braces in values are rare: labels that end at the first one are mostly known.
    const close = text.indexOf('}', at);
    const labels = close < 0 ? undefined : this.known.get(text.slice(at + 1, close));
    return labels === undefined ? this.readNew(text.slice(at, end), at) : { labels, next: close + 1 };
  }

  private readNew(line: string, start: number): { readonly labels: SeriesLabels; readonly next: number } | undefined {
    const pairs: [string, string][] = [];
    let at = 0;
    LABEL.lastIndex = 1;
    for (let match = LABEL.exec(line); match !== null; match = LABEL.exec(line)) {
      pairs.push([match[1]!, match[2]!]);
      at = LABEL.lastIndex - 1;
    }
    const close = line.indexOf('}', at);
    if (close < 0) return undefined;
    const le = pairs.find(([label]) => label === 'le')?.[1];
    const labels = {
      key: labelKey(pairs),
      keyWithoutLe: labelKey(pairs.filter(([label]) => label !== 'le')),
      le: le === undefined ? undefined : toNumber(le),
    };
    if (this.known.size >= KEPT) this.known.clear();
    this.known.set(copyOf(line.slice(1, close)), labels);
    return { labels, next: start + close + 1 };
  }
}

function labelKey(labels: readonly (readonly [string, string])[]): string {
  return JSON.stringify([...labels].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The same text, which is no part of a longer one: a part keeps the whole alive. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

/** @param text a number as pages write it, which a timestamp may follow. */
export function toNumber(text: string): number | undefined {
  const value = Number(text);
  if (!Number.isNaN(value)) return text.trim() === '' ? undefined : value;
  const word = text.trim().split(/\s+/, 1)[0]!;
  switch (word.toLowerCase()) {
    case '+inf':
    case 'inf':
      return Number.POSITIVE_INFINITY;
    case '-inf':
      return Number.NEGATIVE_INFINITY;
    case 'nan':
      return Number.NaN;
    default: {
      const first = Number(word);
      return Number.isNaN(first) ? undefined : first;
    }
  }
}
