import type { Engine } from '../../../src/catalog/engines/engine';
import { ENGINES } from '../../../src/catalog/engines/engine-table';
import type { MetricConcept, MetricName } from '../../../src/catalog/engines/metrics';
import type { EngineWindow } from '../decide/capacity/engine-window';
import type { Family, MetricsPage } from './metrics-page';
import type { Snapshot } from './page-archive';

const READ: readonly MetricConcept[] = [
  'running',
  'waiting',
  'interTokenLatency',
  'steps',
  'finished',
  'promptTokens',
  'generationTokens',
  'prefixCacheQueries',
  'prefixCacheHits',
  'fetchedPromptTokens',
  'computedPromptTokens',
  'decodedTokens',
];

/** Families that capacity is learned from, of every engine of the catalogue. */
export const CAPACITY_FAMILIES: ReadonlySet<string> = new Set(
  Object.values(ENGINES).flatMap(({ metrics }) => READ.flatMap((concept) => (metrics[concept] ?? []).map(({ name }) => name))),
);

/**
 * What an engine did between two pages of one start of it.
 *
 * @returns undefined when a page lacks what is needed, or counts went back.
 */
export function engineWindow(engine: Engine, then: Snapshot, now: Snapshot): EngineWindow | undefined {
  const before = new EnginePage(engine, then.page);
  const after = new EnginePage(engine, now.page);
  const grown = (concept: MetricConcept): number => after.total(concept) - before.total(concept);
  const spanMs = now.atMs - then.atMs;
  const decode = after.histogram('interTokenLatency');
  const decodeBefore = before.histogram('interTokenLatency');
  const running = [before.total('running'), after.total('running')] as const;
  const waiting = [before.total('waiting'), after.total('waiting')] as const;
  // Counters that an engine shows with their first sample only were 0 before.
  const since = (concept: MetricConcept): number => after.count(concept) - nanIsZero(before.count(concept));
  const steps = since('steps');
  const tokens = (decode?.count ?? 0) - (decodeBefore?.count ?? 0);
  const betweenMs = 1000 * ((decode?.sum ?? 0) - (decodeBefore?.sum ?? 0));
  const decoded = since('decodedTokens');
  // Where not every time between tokens was noted, those that were stand for the others.
  const isSampled = Number.isFinite(decoded) && tokens > 0;
  const promptTokens = grown('promptTokens');
  const found = grown('prefixCacheHits');
  const fetched = engine.metrics.fetchedPromptTokens === undefined ? 0 : nanIsZero(grown('fetchedPromptTokens'));
  // An engine that caches nothing has no hits; its prompts are computed whole.
  const computed = since('computedPromptTokens');
  const queried = Number.isNaN(found) ? promptTokens : grown('prefixCacheQueries') - found;
  const window: EngineWindow = {
    spanMs,
    ranks: Math.max(1, after.series('running')),
    ...(Number.isFinite(steps) && { steps }),
    decodeTokens: isSampled ? decoded : tokens,
    decodeMs: isSampled ? (betweenMs * decoded) / tokens : betweenMs,
    prefillTokens: Number.isFinite(computed) ? computed : Math.max(0, queried - fetched),
    promptTokens,
    outputTokens: grown('generationTokens'),
    finished: grown('finished'),
    running,
    waiting,
  };
  const { ranks: _ranks, running: _running, waiting: _waiting, ...counts } = window;
  const isWhole = [...Object.values(counts), ...running, ...waiting].every((value) => Number.isFinite(value) && value >= 0);
  return isWhole && spanMs > 0 ? window : undefined;
}

/** Without these nothing is known of what an engine did. */
const NEEDED: readonly MetricConcept[] = ['running', 'waiting', 'finished', 'promptTokens', 'generationTokens'];

/** Families that a page lacks, so that windows of it say nothing. */
export function lackingFamilies(engine: Engine, page: MetricsPage): readonly string[] {
  const seen = new EnginePage(engine, page);
  return NEEDED.filter((concept) => Number.isNaN(seen.total(concept))).map(
    (concept) => engine.metrics[concept]?.[0]?.name ?? concept,
  );
}

const nanIsZero = (value: number): number => (Number.isNaN(value) ? 0 : value);

/** A page by what its families mean. */
class EnginePage {
  constructor(
    private readonly engine: Engine,
    private readonly page: MetricsPage,
  ) {}

  /** Sum over all series that are meant; NaN when the page does not have it. A counter that has no series yet is 0. */
  total(concept: MetricConcept): number {
    const found = this.find(concept);
    if (found === undefined || found.family.type === 'histogram' || found.family.type === 'summary') return Number.NaN;
    const { series } = found.family;
    const only = found.name.only && JSON.stringify(found.name.only);
    let sum = 0;
    for (const [key, value] of series) if (only === undefined || key.includes(only)) sum += value;
    return sum;
  }

  /** A counter, or how many observations a histogram has; NaN when the page has neither. */
  count(concept: MetricConcept): number {
    return this.histogram(concept)?.count ?? this.total(concept);
  }

  series(concept: MetricConcept): number {
    const family = this.family(concept);
    return family === undefined || family.type === 'summary' ? 0 : family.series.size;
  }

  histogram(concept: MetricConcept): { readonly count: number; readonly sum: number } | undefined {
    const family = this.family(concept);
    if (family?.type !== 'histogram') return undefined;
    let count = 0;
    let sum = 0;
    for (const each of family.series.values()) {
      count += each.counts.at(-1) ?? 0;
      sum += each.sum ?? Number.NaN;
    }
    return { count, sum };
  }

  private family(concept: MetricConcept): Family | undefined {
    return this.find(concept)?.family;
  }

  private find(concept: MetricConcept): { readonly name: MetricName; readonly family: Family } | undefined {
    const name = this.engine.metrics[concept]?.find((each) => this.page.has(each.name));
    const family = name && this.page.get(name.name);
    return name && family && { name, family };
  }
}
