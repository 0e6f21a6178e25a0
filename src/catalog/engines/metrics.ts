import { compareVersions } from './version';

/** What a metric tells, whatever an engine calls it. */
export type MetricConcept =
  /** Gauge: sequences in the running batch. */
  | 'running'
  /** Gauge: requests that wait to be scheduled. */
  | 'waiting'
  /** Gauge: share of KV cache in use, 0..1. */
  | 'kvUsage'
  /** Histogram in seconds. */
  | 'timeToFirstToken'
  /** Histogram in seconds. */
  | 'interTokenLatency'
  /** Counter: prompt tokens that were looked up in the prefix cache. */
  | 'prefixCacheQueries'
  /** Counter: prompt tokens that were found there. */
  | 'prefixCacheHits'
  /** Counter. */
  | 'promptTokens'
  /** Counter. */
  | 'generationTokens'
  /** Tokens or blocks of KV cache: a gauge, or labels of an info gauge. */
  | 'kvCapacity'
  /** Gauge whose newest series lists adapters in its labels. */
  | 'loraRequests'
  /** Counter: sequences that lost their KV cache to others. */
  | 'preemptions'
  /** Histogram whose count is that of the engine's steps, or a counter of them. */
  | 'steps'
  /** Counter: requests that ended with an answer. */
  | 'finished'
  /** Counter: prompt tokens whose KV came from another engine or store. */
  | 'fetchedPromptTokens'
  /** Counter: prompt tokens that steps computed, counted as they do. */
  | 'computedPromptTokens'
  /** Counter: tokens that followed another one, counted as steps compute them. */
  | 'decodedTokens';

/** One name of a concept, with the releases that export it. */
export interface MetricName {
  /** Family name as `/metrics` writes it, `_total` of counters included. */
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  /** Label and value of the series that are meant; absent: all of the family. */
  readonly only?: readonly [label: string, value: string];
  /** First release with this name; undefined: as far back as the catalogue looks. */
  readonly since?: string;
}

/** Concept → its names, newest first. A concept that the engine does not export is absent. */
export type MetricTable = Readonly<Partial<Record<MetricConcept, readonly MetricName[]>>>;

/** Concept → the one name of it that a version exports. */
export type VersionMetrics = Readonly<Partial<Record<MetricConcept, MetricName>>>;

/** By table and version: a thousand pods share a handful. */
const known = new WeakMap<MetricTable, Map<string, VersionMetrics>>();
const MOST_KNOWN = 1000;

/** The name that `version` exports for each concept. */
export function metricsOfVersion(table: MetricTable, version: string): VersionMetrics {
  let versions = known.get(table);
  if (versions === undefined) {
    versions = new Map();
    known.set(table, versions);
  }
  let metrics = versions.get(version);
  if (metrics === undefined) {
    metrics = findMetrics(table, version);
    if (versions.size >= MOST_KNOWN) versions.clear();
    versions.set(version, metrics);
  }
  return metrics;
}

function findMetrics(table: MetricTable, version: string): VersionMetrics {
  const entries = Object.entries(table).map(
    ([concept, names]) =>
      [concept, names.find(({ since }) => since === undefined || compareVersions(since, version) <= 0)] as const,
  );
  return Object.fromEntries(entries.filter(([, name]) => name !== undefined));
}
