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
export type MetricsPage = ReadonlyMap<string, Family>;

/**
 * Reads the wanted families of a page in Prometheus' text format or OpenMetrics, whose counters carry `_total` on samples only. Lines that
 * are no samples are passed over, as Prometheus' own comments are.
 */
export function parseMetricsPage(text: string, wanted: ReadonlySet<string>): MetricsPage {
  const types = new Map<string, string>();
  const samples = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) {
      const [, word, name, type] = line.split(/\s+/, 4);
      if (word === 'TYPE' && name !== undefined && type !== undefined) types.set(name, type);
      continue;
    }
    const name = /^[a-zA-Z_:][a-zA-Z0-9_:]*/.exec(line)?.[0];
    const family = name === undefined ? undefined : familyOf(name, wanted);
    if (name === undefined || family === undefined) continue;
    const sample = parseSample(line, name);
    if (sample === undefined) continue;
    const known = samples.get(family);
    if (known === undefined) samples.set(family, [sample]);
    else known.push(sample);
  }
  return new Map([...samples].map(([name, found]) => [name, toFamily(name, typeOf(name, types), found)]));
}

interface Sample {
  readonly name: string;
  readonly labels: readonly (readonly [string, string])[];
  readonly value: number;
}

const SUFFIXES = ['_bucket', '_sum', '_count', '_total'];

function familyOf(name: string, wanted: ReadonlySet<string>): string | undefined {
  if (wanted.has(name)) return name;
  const suffix = SUFFIXES.find((ending) => name.endsWith(ending));
  const base = suffix === undefined ? undefined : name.slice(0, -suffix.length);
  return base !== undefined && wanted.has(base) ? base : undefined;
}

function typeOf(name: string, types: ReadonlyMap<string, string>): string {
  return types.get(name) ?? (name.endsWith('_total') ? types.get(name.slice(0, -'_total'.length)) : undefined) ?? 'untyped';
}

function toFamily(name: string, type: string, samples: readonly Sample[]): Family {
  switch (type) {
    case 'histogram':
      return { type, series: toHistograms(name, samples) };
    case 'summary':
      return { type };
    default: {
      const own = samples.filter((sample) => sample.name === name || (type === 'counter' && sample.name === `${name}_total`));
      const series = new Map(own.map(({ labels, value }) => [labelKey(labels), value]));
      return { type: type === 'gauge' || type === 'counter' ? type : 'untyped', series };
    }
  }
}

function toHistograms(name: string, samples: readonly Sample[]): ReadonlyMap<string, Histogram> {
  const series = new Map<string, { bound: number; count: number }[]>();
  const sums = new Map<string, number>();
  for (const { name: part, labels, value } of samples) {
    if (part === `${name}_sum`) sums.set(labelKey(labels), value);
    if (part !== `${name}_bucket`) continue;
    const bound = toNumber(labels.find(([label]) => label === 'le')?.[1] ?? '');
    if (bound === undefined) continue;
    const key = labelKey(labels.filter(([label]) => label !== 'le'));
    const known = series.get(key);
    if (known === undefined) series.set(key, [{ bound, count: value }]);
    else known.push({ bound, count: value });
  }
  return new Map(
    [...series].map(([key, found]) => {
      found.sort((a, b) => a.bound - b.bound);
      const sum = sums.get(key);
      const histogram = { bounds: found.map(({ bound }) => bound), counts: found.map(({ count }) => count) };
      return [key, sum === undefined ? histogram : { ...histogram, sum }];
    }),
  );
}

function labelKey(labels: readonly (readonly [string, string])[]): string {
  return JSON.stringify([...labels].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const LABEL = /\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?/y;

function parseSample(line: string, name: string): Sample | undefined {
  const labels: [string, string][] = [];
  let at = name.length;
  if (line[at] === '{') {
    LABEL.lastIndex = at + 1;
    for (let match = LABEL.exec(line); match !== null; match = LABEL.exec(line)) {
      labels.push([match[1]!, match[2]!]);
      at = LABEL.lastIndex - 1;
    }
    at = line.indexOf('}', at);
    if (at < 0) return undefined;
    at += 1;
  }
  const value = toNumber(line.slice(at).trim().split(/\s+/, 1)[0] ?? '');
  return value === undefined ? undefined : { name, labels, value };
}

function toNumber(text: string): number | undefined {
  switch (text.toLowerCase()) {
    case '':
      return undefined;
    case '+inf':
    case 'inf':
      return Number.POSITIVE_INFINITY;
    case '-inf':
      return Number.NEGATIVE_INFINITY;
    case 'nan':
      return Number.NaN;
    default: {
      const value = Number(text);
      return Number.isNaN(value) ? undefined : value;
    }
  }
}
