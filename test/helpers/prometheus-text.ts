/** One family of a Prometheus text. */
export interface Family {
  readonly type: string;
  /** Label text → value. */
  readonly series: Map<string, number>;
}

/** Families by name; the series of histograms are under the family's own name with their suffix in the key. */
export function parseFamilies(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let current: { name: string; family: Family } | undefined;
  for (const line of text.split(/\r?\n/)) {
    const type = /^# TYPE (\S+) (\S+)/.exec(line);
    if (type !== null) {
      current = { name: type[1]!, family: { type: type[2]!, series: new Map() } };
      families.set(current.name, current.family);
      continue;
    }
    const sample = /^([^#\s{]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (sample === null || current === undefined) continue;
    const suffix = sample[1]!.startsWith(current.name) ? sample[1]!.slice(current.name.length) : sample[1]!;
    current.family.series.set(`${suffix}{${sample[2] ?? ''}}`, Number(sample[3]!.replace('+Inf', 'Infinity')));
  }
  return families;
}

/** Value of a series of exactly one label set, or of the one whose labels contain `part`. */
export function seriesValue(families: Map<string, Family>, name: string, part = ''): number {
  const matches = [...(families.get(name)?.series ?? [])].filter(([key]) => key.includes(part));
  if (matches.length !== 1) throw new Error(`${name} ${part}: ${matches.length} series`);
  return matches[0]![1];
}

/** Names of the labels of a family's series, `le` included. */
export function labelNames(family: Family): readonly string[] {
  const names = new Set<string>();
  for (const key of family.series.keys()) for (const match of key.matchAll(/([A-Za-z_][A-Za-z0-9_]*)="/g)) names.add(match[1]!);
  return [...names].sort();
}
