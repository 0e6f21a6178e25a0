import type { Family, Histogram, MetricsPage } from './metrics-page';

/** What a family looks like on a page, without its values. */
type Shape =
  | { readonly name: string; readonly type: 'gauge' | 'counter' | 'untyped'; readonly keys: readonly string[] }
  | { readonly name: string; readonly type: 'histogram'; readonly series: readonly HistogramShape[] }
  | { readonly name: string; readonly type: 'summary' };

interface HistogramShape {
  readonly key: string;
  readonly bounds: readonly number[];
  readonly hasSum: boolean;
}

/** Families of a page in order, where the values of each begin, and how many there are together. */
interface Layout {
  readonly shapes: readonly Shape[];
  readonly places: ReadonlyMap<string, { readonly shape: Shape; readonly at: number }>;
  readonly values: number;
}

/** Layouts that are tried before a new one is made: engines and versions in one fleet are few. */
const KEPT_LAYOUTS = 32;
/** Values of pages that were read one after the other share memory; they go at about the same time. */
const SLAB_VALUES = 8 * 1024;

/**
 * Packs pages to an eighth of what they take as maps: a round has thousands at a time, and as many again for each earlier round that it is compared
 * with.
 */
export class PagePacker {
  /** The last one used first. */
  private readonly layouts: Layout[] = [];
  private slab = new Float64Array(0);
  private used = 0;

  pack(page: ReadonlyMap<string, Family>): MetricsPage {
    const layout = this.layoutOf(page);
    if (this.used + layout.values > this.slab.length) {
      this.slab = new Float64Array(Math.max(SLAB_VALUES, layout.values));
      this.used = 0;
    }
    const start = this.used;
    this.used += layout.values;
    writeValues(page, this.slab, start);
    return new PackedPage(layout, this.slab, start);
  }

  private layoutOf(page: ReadonlyMap<string, Family>): Layout {
    const known = this.layouts.findIndex(({ shapes }) => fits(page, shapes));
    const layout = known < 0 ? makeLayout(page) : this.layouts[known]!;
    if (known !== 0) {
      if (known > 0) this.layouts.splice(known, 1);
      this.layouts.unshift(layout);
      if (this.layouts.length > KEPT_LAYOUTS) this.layouts.pop();
    }
    return layout;
  }
}

/** A page of which single families are unpacked when they are asked for. */
class PackedPage implements MetricsPage {
  constructor(
    private readonly layout: Layout,
    private readonly slab: Float64Array,
    private readonly start: number,
  ) {}

  has(name: string): boolean {
    return this.layout.places.has(name);
  }

  get(name: string): Family | undefined {
    const place = this.layout.places.get(name);
    return place === undefined ? undefined : familyAt(place.shape, this.slab, this.start + place.at);
  }
}

function writeValues(page: ReadonlyMap<string, Family>, values: Float64Array, start: number): void {
  let at = start;
  for (const family of page.values()) {
    if (family.type === 'summary') continue;
    if (family.type !== 'histogram') {
      for (const value of family.series.values()) values[at++] = value;
      continue;
    }
    for (const { counts, sum } of family.series.values()) {
      values.set(counts, at);
      at += counts.length;
      if (sum !== undefined) values[at++] = sum;
    }
  }
}

function familyAt(shape: Shape, values: Float64Array, start: number): Family {
  let at = start;
  switch (shape.type) {
    case 'summary':
      return { type: 'summary' };
    case 'histogram': {
      const series = shape.series.map(({ key, bounds, hasSum }): [string, Histogram] => {
        const counts = Array.from(values.subarray(at, at + bounds.length));
        at += bounds.length;
        return [key, hasSum ? { bounds, counts, sum: values[at++]! } : { bounds, counts }];
      });
      return { type: 'histogram', series: new Map(series) };
    }
    default:
      return { type: shape.type, series: new Map(shape.keys.map((key) => [key, values[at++]!])) };
  }
}

function makeLayout(page: ReadonlyMap<string, Family>): Layout {
  const places = new Map<string, { readonly shape: Shape; readonly at: number }>();
  let values = 0;
  for (const [name, family] of page) {
    places.set(name, { shape: shapeOf(name, family), at: values });
    values += countOf(family);
  }
  return { shapes: [...places.values()].map(({ shape }) => shape), places, values };
}

function shapeOf(name: string, family: Family): Shape {
  if (family.type === 'summary') return { name, type: 'summary' };
  if (family.type !== 'histogram') return { name, type: family.type, keys: [...family.series.keys()] };
  const series = [...family.series].map(([key, { bounds, sum }]) => ({ key, bounds, hasSum: sum !== undefined }));
  return { name, type: 'histogram', series };
}

function countOf(family: Family): number {
  if (family.type === 'summary') return 0;
  if (family.type !== 'histogram') return family.series.size;
  return [...family.series.values()].reduce((all, { bounds, sum }) => all + bounds.length + (sum === undefined ? 0 : 1), 0);
}

function fits(page: ReadonlyMap<string, Family>, shapes: readonly Shape[]): boolean {
  if (page.size !== shapes.length) return false;
  let index = 0;
  for (const [name, family] of page) {
    const shape = shapes[index++]!;
    if (shape.name !== name || shape.type !== family.type || !hasShape(family, shape)) return false;
  }
  return true;
}

function hasShape(family: Family, shape: Shape): boolean {
  if (family.type === 'summary' || shape.type === 'summary') return true;
  let index = 0;
  if (family.type === 'histogram') {
    if (shape.type !== 'histogram' || shape.series.length !== family.series.size) return false;
    for (const [key, { bounds, sum }] of family.series) {
      const other = shape.series[index++]!;
      if (other.key !== key || other.hasSum !== (sum !== undefined) || !isSame(other.bounds, bounds)) return false;
    }
    return true;
  }
  if (shape.type === 'histogram' || shape.keys.length !== family.series.size) return false;
  for (const key of family.series.keys()) if (shape.keys[index++] !== key) return false;
  return true;
}

function isSame(some: readonly number[], others: readonly number[]): boolean {
  return some === others || (some.length === others.length && some.every((each, i) => Object.is(each, others[i])));
}
