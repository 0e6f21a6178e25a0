import { LabelReader, NO_LABELS, type SeriesLabels, toNumber } from './series-labels';

/** One labelled histogram: cumulative counts at each upper bound, the last bound being +Inf. */
export interface Histogram {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  /** Of all observations; absent where the page has none. */
  readonly sum?: number;
}

/** One metric family of a page; series are keyed by their labels. */
export type Family =
  | { readonly type: 'gauge' | 'counter' | 'untyped'; readonly series: ReadonlyMap<string, number> }
  | { readonly type: 'histogram'; readonly series: ReadonlyMap<string, Histogram> }
  | { readonly type: 'summary' };

/** The families that somebody asked for, of one page. */
export type MetricsPage = Pick<ReadonlyMap<string, Family>, 'get' | 'has'>;

/** As `MetricsPageReader.read`, for a single page. */
export function parseMetricsPage(text: string, wanted: ReadonlySet<string>): ReadonlyMap<string, Family> {
  return new MetricsPageReader(wanted).read(text);
}

/** What a sample is to its family. */
type Part = 'own' | 'total' | 'bucket' | 'sum' | 'count';

const SUFFIXES: readonly (readonly [string, Part])[] = [
  ['_bucket', 'bucket'],
  ['_sum', 'sum'],
  ['_count', 'count'],
  ['_total', 'total'],
];

/** A family that samples of one name belong to. */
interface Place {
  readonly family: string;
  readonly part: Part;
}

/** What was found of one family so far. */
interface Samples {
  own?: Map<string, number>;
  totals?: Map<string, number>;
  sums?: Map<string, number>;
  buckets?: Map<string, { readonly bounds: number[]; readonly counts: number[] }>;
}

const OPEN_BRACE = '{'.charCodeAt(0);

/**
 * Reads pages in Prometheus' text format or OpenMetrics, whose counters carry `_total` on samples only. A fleet's pages are megabytes of which
 * a few lines are wanted, so that one expression finds those; and the pages of its engines are alike, so that the same labels and bounds
 * are read and kept once. Nothing that is returned holds on to the text.
 */
export class MetricsPageReader {
  private readonly places = new Map<string, readonly Place[]>();
  /** The start of a wanted line: of a TYPE comment with name and type, or of a sample with its name; after a line, or first of all. */
  private readonly nextLine: RegExp;
  private readonly firstLine: RegExp;
  private readonly labels = new LabelReader();
  private readonly bounds = new Map<string, readonly number[]>();

  /** @param wanted names of families. */
  constructor(wanted: ReadonlySet<string>) {
    const typed = new Set<string>();
    for (const family of wanted) {
      typed.add(family);
      if (family.endsWith('_total')) typed.add(family.slice(0, -'_total'.length));
      this.place(family, { family, part: 'own' });
      for (const [suffix, part] of SUFFIXES) this.place(family + suffix, { family, part });
    }
    const type = `#[ \\t]+TYPE[ \\t]+(${anyOf(typed)})[ \\t]+(\\S+)`;
    const line = `(?:${type}|(${anyOf(this.places.keys())})(?=[{ \\t]))`;
    this.nextLine = new RegExp(`\\n${line}`, 'g');
    this.firstLine = new RegExp(line, 'y');
  }

  /** Lines that are no samples are passed over, as Prometheus' own comments are. A wanted family without samples is not on the page. */
  read(text: string): ReadonlyMap<string, Family> {
    const types = new Map<string, string>();
    const found = new Map<string, Samples>();
    let match = matchAt(this.firstLine, text, 0) ?? matchAt(this.nextLine, text, 0);
    while (match !== null) {
      const [line, typed, type, sample] = match;
      const at = match.index + line.length;
      const feed = text.indexOf('\n', at);
      const end = feed < 0 ? text.length : feed;
      if (sample !== undefined) this.readSample(text, at, end, this.places.get(sample)!, found);
      else types.set(typed!, type!);
      match = matchAt(this.nextLine, text, end);
    }
    return this.families(found, types);
  }

  private place(sample: string, place: Place): void {
    this.places.set(sample, [...(this.places.get(sample) ?? []), place]);
  }

  /** @param at end of the sample's name. */
  private readSample(text: string, at: number, end: number, places: readonly Place[], found: Map<string, Samples>): void {
    let labels = NO_LABELS;
    let valueAt = at;
    if (text.charCodeAt(at) === OPEN_BRACE) {
      const read = this.labels.read(text, at, end);
      if (read === undefined) return;
      labels = read.labels;
      valueAt = read.next;
    }
    const value = toNumber(text.slice(valueAt, end));
    if (value === undefined) return;
    for (const { family, part } of places) {
      let samples = found.get(family);
      if (samples === undefined) {
        samples = {};
        found.set(family, samples);
      }
      addSample(samples, part, labels, value);
    }
  }

  private families(found: ReadonlyMap<string, Samples>, types: ReadonlyMap<string, string>): ReadonlyMap<string, Family> {
    const page = new Map<string, Family>();
    for (const [name, samples] of found) {
      const type = typeOf(name, types);
      if (type === 'summary') page.set(name, { type });
      else if (type === 'histogram') page.set(name, { type, series: this.histograms(name, samples) });
      else {
        const series = (type === 'counter' ? samples.totals : undefined) ?? samples.own;
        // Under another name, or another type, it is another family.
        if (series !== undefined) page.set(name, { type: type === 'gauge' || type === 'counter' ? type : 'untyped', series });
      }
    }
    return page;
  }

  private histograms(family: string, { buckets = new Map(), sums }: Samples): ReadonlyMap<string, Histogram> {
    const series = new Map<string, Histogram>();
    for (const [key, found] of buckets) {
      const { bounds, counts } = inOrder(found);
      const sum = sums?.get(key);
      series.set(key, { bounds: this.sharedBounds(family, bounds), counts, ...(sum !== undefined && { sum }) });
    }
    return series;
  }

  private sharedBounds(family: string, bounds: readonly number[]): readonly number[] {
    const known = this.bounds.get(family);
    if (known?.length === bounds.length && known.every((bound, i) => bound === bounds[i])) return known;
    this.bounds.set(family, bounds);
    return bounds;
  }
}

function matchAt(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(text);
}

function addSample(samples: Samples, part: Part, { key, keyWithoutLe, le }: SeriesLabels, value: number): void {
  switch (part) {
    case 'own':
      samples.own ??= new Map();
      samples.own.set(key, value);
      break;
    case 'total':
      samples.totals ??= new Map();
      samples.totals.set(key, value);
      break;
    case 'sum':
      samples.sums ??= new Map();
      samples.sums.set(key, value);
      break;
    case 'bucket': {
      if (le === undefined) break;
      samples.buckets ??= new Map();
      const known = samples.buckets.get(keyWithoutLe);
      if (known === undefined) samples.buckets.set(keyWithoutLe, { bounds: [le], counts: [value] });
      else {
        known.bounds.push(le);
        known.counts.push(value);
      }
      break;
    }
    case 'count':
      break;
  }
}

/** An expression for any of `names`; of two of which one begins the other, the longer comes first. */
function anyOf(names: Iterable<string>): string {
  const sorted = [...names].sort((a, b) => (a < b ? 1 : -1));
  // Nothing is wanted: no line is.
  return sorted.length === 0 ? '(?!)' : sorted.map((name) => name.replace(/[^\w:]/g, '\\$&')).join('|');
}

function typeOf(name: string, types: ReadonlyMap<string, string>): string {
  return types.get(name) ?? (name.endsWith('_total') ? types.get(name.slice(0, -'_total'.length)) : undefined) ?? 'untyped';
}

function inOrder(found: { readonly bounds: number[]; readonly counts: number[] }): {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
} {
  const { bounds, counts } = found;
  if (bounds.every((bound, i) => i === 0 || bounds[i - 1]! <= bound)) return found;
  const order = bounds.map((_, i) => i).sort((a, b) => bounds[a]! - bounds[b]!);
  return { bounds: order.map((i) => bounds[i]!), counts: order.map((i) => counts[i]!) };
}
