import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';

interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

interface Snapshot {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  readonly values: readonly Sample[];
}

/** One series of a counter or gauge. Adding to it costs one addition: its labels were bound when it was made. */
export class Series {
  value = 0;

  constructor(readonly labels: Readonly<Record<string, string>>) {}

  add(amount: number): void {
    this.value += amount;
  }

  set(value: number): void {
    this.value = value;
  }
}

/** One series of a histogram. */
export class HistogramSeries {
  sum = 0;
  readonly counts: Float64Array;

  constructor(
    readonly labels: Readonly<Record<string, string>>,
    readonly bounds: readonly number[],
  ) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > this.bounds[bucket]!) bucket += 1;
    this.counts[bucket]! += 1;
    this.sum += value;
  }
}

/** Most series of one metric. Labels come from objects of the cluster, of which nobody else bounds the number over a long life. */
const MAX_SERIES = 5_000;
/** Every label of the series that takes what is beyond. */
const OVERFLOW_LABEL = '_other';

abstract class Family<S> {
  protected readonly series = new Map<string, S>();
  private overflow: S | undefined;

  constructor(
    readonly name: string,
    readonly help: string,
    readonly type: 'counter' | 'gauge' | 'histogram',
    readonly labelNames: readonly string[],
  ) {}

  /**
   * The series with these label values, in the order of the family's label names. Keep it: finding it again costs a look-up. Beyond 5,000
   * series, one whose labels are all `_other`.
   */
  with(...values: readonly string[]): S {
    const key = values.join('\u0000');
    const known = this.series.get(key);
    if (known !== undefined) return known;
    if (this.series.size >= MAX_SERIES) {
      this.overflow ??= this.made(this.labelNames.map(() => OVERFLOW_LABEL));
      return this.overflow;
    }
    const made = this.made(values);
    this.series.set(key, made);
    return made;
  }

  /** Forgets all series: what they told is no longer so. */
  clear(): void {
    this.series.clear();
    this.overflow = undefined;
  }

  private made(values: readonly string[]): S {
    return this.make(Object.fromEntries(this.labelNames.map((name, index) => [name, values[index] ?? ''])));
  }

  private all(): readonly S[] {
    return this.overflow === undefined ? [...this.series.values()] : [...this.series.values(), this.overflow];
  }

  /** Called by the registry at each scrape. */
  async get(): Promise<Snapshot> {
    return {
      name: this.name,
      help: this.help,
      type: this.type,
      aggregator: 'sum',
      values: this.all().flatMap((s) => this.samples(s)),
    };
  }

  protected abstract make(labels: Readonly<Record<string, string>>): S;
  protected abstract samples(series: S): readonly Sample[];
}

/** A counter or gauge with its series. */
export class SeriesFamily extends Family<Series> {
  /** Sum over all series, for tests of what must return to zero. */
  total(): number {
    return [...this.series.values()].reduce((sum, { value }) => sum + value, 0);
  }

  protected make(labels: Readonly<Record<string, string>>): Series {
    return new Series(labels);
  }

  protected samples({ labels, value }: Series): readonly Sample[] {
    return [{ labels, value }];
  }
}

/** A histogram with its series. */
export class HistogramFamily extends Family<HistogramSeries> {
  constructor(
    name: string,
    help: string,
    labelNames: readonly string[],
    readonly bounds: readonly number[],
  ) {
    super(name, help, 'histogram', labelNames);
  }

  protected make(labels: Readonly<Record<string, string>>): HistogramSeries {
    return new HistogramSeries(labels, this.bounds);
  }

  protected samples({ labels, counts, bounds, sum }: HistogramSeries): readonly Sample[] {
    let count = 0;
    const samples: Sample[] = bounds.map((bound, index) => {
      count += counts[index]!;
      return { metricName: `${this.name}_bucket`, labels: { ...labels, le: bound }, value: count };
    });
    count += counts[bounds.length]!;
    samples.push({ metricName: `${this.name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count });
    samples.push(
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    );
    return samples;
  }
}

/**
 * The metrics of one image: a prom-client registry, and families whose series are bound ahead, since prom-client hashes the labels
 * anew at each increment (1 to 2 µs with eight labels).
 */
export class Metrics {
  readonly registry = new Registry();
  private readonly families = new Map<string, Family<Series> | Family<HistogramSeries>>();

  private readonly collectors: (() => void)[] = [];

  /** @param collect called before each scrape, to set what is not kept up to date all the time. */
  onCollect(collect: () => void): void {
    this.collectors.push(collect);
  }

  /** All metrics as Prometheus reads them. */
  page(): Promise<string> {
    for (const collect of this.collectors) collect();
    return this.registry.metrics();
  }

  counter(name: string, help: string, labelNames: readonly string[] = []): SeriesFamily {
    return this.register(new SeriesFamily(name, help, 'counter', labelNames));
  }

  gauge(name: string, help: string, labelNames: readonly string[] = []): SeriesFamily {
    return this.register(new SeriesFamily(name, help, 'gauge', labelNames));
  }

  histogram(name: string, help: string, labelNames: readonly string[], bounds: readonly number[]): HistogramFamily {
    return this.register(new HistogramFamily(name, help, labelNames, bounds));
  }

  /** Adds Node's own figures: memory, CPU, garbage collection, event loop. Their timers run as long as the process. */
  withProcessMetrics(): this {
    collectDefaultMetrics({ register: this.registry });
    return this;
  }

  /** A part that is made anew while the process runs goes on with the family that it had. */
  private register<F extends Family<Series> | Family<HistogramSeries>>(family: F): F {
    const known = this.families.get(family.name);
    if (known !== undefined && known.type === family.type && `${known.labelNames}` === `${family.labelNames}`) return known as F;
    this.families.set(family.name, family);
    // The registry calls `get`, `name`, `help` and `type` only, which the family has; its type asks for prom-client's own classes.
    this.registry.registerMetric(family as unknown as Metric<string>);
    return family;
  }
}
