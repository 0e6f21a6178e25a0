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

abstract class Family<S> {
  protected readonly series = new Map<string, S>();

  constructor(
    readonly name: string,
    readonly help: string,
    readonly type: 'counter' | 'gauge' | 'histogram',
    readonly labelNames: readonly string[],
  ) {}

  /** The series with these label values, in the order of the family's label names. Keep it: finding it again costs a look-up. */
  with(...values: readonly string[]): S {
    const key = values.join('\u0000');
    const known = this.series.get(key);
    if (known !== undefined) return known;
    const made = this.make(Object.fromEntries(this.labelNames.map((name, index) => [name, values[index] ?? ''])));
    this.series.set(key, made);
    return made;
  }

  /** Called by the registry at each scrape. */
  async get(): Promise<Snapshot> {
    return {
      name: this.name,
      help: this.help,
      type: this.type,
      aggregator: 'sum',
      values: [...this.series.values()].flatMap((s) => this.samples(s)),
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

  private register<F extends Family<Series> | Family<HistogramSeries>>(family: F): F {
    // The registry calls `get`, `name`, `help` and `type` only, which the family has; its type asks for prom-client's own classes.
    this.registry.registerMetric(family as unknown as Metric<string>);
    return family;
  }
}
