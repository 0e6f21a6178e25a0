/** Label values as they stand in braces, such as `engine="0",model_name="m"`. */
export type Labels = string;

/** Writes `{a="x",b="y"}` without the braces, values escaped. */
export function labels(values: Readonly<Record<string, string | number>>): Labels {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${String(value).replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')}"`)
    .join(',');
}

/** A number as Python's client writes it: `4.0`, `0.25`, `1.7960557206500978e+09`. */
export function pythonFloat(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : value < 0 ? '-Inf' : 'NaN';
  if (Math.abs(value) >= 1e6) {
    const [digits, exponent] = value.toExponential().split('e') as [string, string];
    return `${digits}e+${exponent.slice(1).padStart(2, '0')}`;
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** A Prometheus histogram of one label set. */
export class Histogram {
  private readonly counts: Float64Array;
  private sum = 0;

  /** @param bounds upper bounds, ascending, without infinity. */
  constructor(private readonly bounds: readonly number[]) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number, times = 1): void {
    let i = 0;
    while (i < this.bounds.length && value > this.bounds[i]!) i += 1;
    this.counts[i]! += times;
    this.sum += value * times;
  }

  /** The series of it, the label `le` behind the others or where the label order of Python's client has it. */
  lines(name: string, seriesLabels: Labels): string[] {
    const lines: string[] = [];
    const before = seriesLabels === '' ? '' : `${seriesLabels},`;
    let total = 0;
    for (let i = 0; i <= this.bounds.length; i++) {
      total += this.counts[i]!;
      const bound = i === this.bounds.length ? '+Inf' : pythonFloat(this.bounds[i]!);
      lines.push(`${name}_bucket{${sortLabels(`${before}le="${bound}"`)}} ${pythonFloat(total)}`);
    }
    const braces = seriesLabels === '' ? '' : `{${seriesLabels}}`;
    lines.push(`${name}_count${braces} ${pythonFloat(total)}`, `${name}_sum${braces} ${pythonFloat(this.sum)}`);
    return lines;
  }
}

/** Python's client writes labels in the order of their names. */
function sortLabels(text: Labels): Labels {
  return text
    .match(/[a-z_]+="(?:[^"\\]|\\.)*"/gi)!
    .sort()
    .join(',');
}

/** Collects families in the text format. A family that is written again, for another label set, gets further series. */
export class Exposition {
  private readonly families = new Map<string, string[]>();

  /** @param createdAtSeconds when counters began; then each has the `_created` family that Python's client writes. */
  constructor(private readonly createdAtSeconds?: number) {}

  gauge(name: string, help: string, series: readonly (readonly [Labels, number])[]): void {
    this.family(name, 'gauge', help, series);
  }

  /** @param name without `_total`. */
  counter(name: string, help: string, series: readonly (readonly [Labels, number])[]): void {
    this.family(`${name}_total`, 'counter', help, series);
    this.created(name, series);
  }

  histogram(name: string, help: string, series: readonly (readonly [Labels, Histogram])[]): void {
    const lines = this.linesOf(name, 'histogram', help);
    for (const [seriesLabels, histogram] of series) lines.push(...histogram.lines(name, seriesLabels));
    this.created(name, series);
  }

  text(): string {
    return `${[...this.families.values()].flat().join('\n')}\n`;
  }

  private family(name: string, type: 'counter' | 'gauge', help: string, series: readonly (readonly [Labels, number])[]): void {
    const lines = this.linesOf(name, type, help);
    for (const [seriesLabels, value] of series)
      lines.push(`${name}${seriesLabels === '' ? '' : `{${seriesLabels}}`} ${pythonFloat(value)}`);
  }

  private linesOf(name: string, type: string, help: string): string[] {
    let lines = this.families.get(name);
    if (lines === undefined) {
      lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
      this.families.set(name, lines);
    }
    return lines;
  }

  private created(name: string, series: readonly (readonly [Labels, unknown])[]): void {
    const { createdAtSeconds } = this;
    if (createdAtSeconds === undefined) return;
    this.family(
      `${name}_created`,
      'gauge',
      `When ${name} began.`,
      series.map(([seriesLabels]) => [seriesLabels, createdAtSeconds]),
    );
  }
}
