import { engineOfApiName } from '../../../src/catalog/engines/engine-table';
import { labelValue, type MetricSample, scanMetrics } from './metrics-scan';

/** Sum and count of a histogram since the engine started. */
export interface HistogramTotals {
  readonly sumSeconds: number;
  readonly count: number;
}

/** What one page of an engine's metrics says. A part that the page lacks is undefined: unknown is not zero. */
export interface EngineObservation {
  readonly running?: number;
  readonly waiting?: number;
  /** Share of the KV cache in use, 0..1; mean over data-parallel ranks. */
  readonly kvUsage?: number;
  /** Tokens that the KV cache holds, over all data-parallel ranks. */
  readonly kvCapacityTokens?: number;
  readonly timeToFirstToken?: HistogramTotals;
  readonly interTokenLatency?: HistogramTotals;
  /** LoRA adapters that the engine holds on the GPU at one time. */
  readonly adapterSlots?: number;
  /** LoRA adapters that requests were running with. */
  readonly runningAdapters?: readonly string[];
}

const READ = ['running', 'waiting', 'kvUsage', 'kvCapacity', 'timeToFirstToken', 'interTokenLatency', 'loraRequests'] as const;

/** Metric names of an engine, newest first: a page is read by whichever it has, since a pod's image may not tell its version. */
interface ReadNames {
  readonly prefix: string;
  readonly names: Readonly<Record<(typeof READ)[number], readonly string[]>>;
  readonly wanted: ReadonlySet<string>;
}

const ENGINES: Readonly<Record<'vLLM' | 'SGLang', ReadNames>> = { vLLM: readNames('vLLM'), SGLang: readNames('SGLang') };

/** Reads a metrics page. Series of data-parallel ranks are added up; those of further tensor-parallel ranks repeat the first and are skipped. */
export function readObservation(page: string, engine: 'vLLM' | 'SGLang'): EngineObservation {
  const { prefix, names, wanted } = ENGINES[engine];
  const byName = new Map<string, MetricSample[]>();
  for (const sample of scanMetrics(page, prefix, wanted)) {
    if (!isFirstShard(sample.labels)) continue;
    const family = byName.get(sample.name);
    if (family === undefined) byName.set(sample.name, [sample]);
    else family.push(sample);
  }
  const family = (alternatives: readonly string[], suffix = ''): readonly MetricSample[] | undefined => {
    for (const name of alternatives) {
      const samples = byName.get(`${name}${suffix}`);
      if (samples !== undefined) return samples;
    }
    return undefined;
  };
  const histogram = (alternatives: readonly string[]): HistogramTotals | undefined => {
    const sum = family(alternatives, '_sum');
    const count = family(alternatives, '_count');
    return sum && count && { sumSeconds: total(sum), count: total(count) };
  };
  const running = family(names.running);
  const waiting = family(names.waiting);
  const kvUsage = family(names.kvUsage);
  return defined({
    running: running && total(running),
    waiting: waiting && total(waiting),
    kvUsage: kvUsage && total(kvUsage) / kvUsage.length,
    kvCapacityTokens: capacityTokens(family(names.kvCapacity)),
    timeToFirstToken: histogram(names.timeToFirstToken),
    interTokenLatency: histogram(names.interTokenLatency),
    ...adaptersOf(family(names.loraRequests)),
  });
}

/** vLLM tells its cache as labels, blocks × tokens per block; SGLang as a gauge of tokens. */
function capacityTokens(samples: readonly MetricSample[] | undefined): number | undefined {
  const tokens = (samples ?? []).reduce((sum, { labels, value }) => {
    const blocks = labelValue(labels, 'num_gpu_blocks');
    return sum + (blocks === undefined ? value : Number(blocks) * Number(labelValue(labels, 'block_size') ?? Number.NaN));
  }, 0);
  return Number.isFinite(tokens) && tokens > 0 ? tokens : undefined;
}

/** Every combination of adapters stays exported, with the time at which it was true: the newest one counts. */
function adaptersOf(
  samples: readonly MetricSample[] | undefined,
): Pick<{ [K in keyof EngineObservation]: EngineObservation[K] | undefined }, 'adapterSlots' | 'runningAdapters'> {
  const newest = samples?.reduce((last, each) => (each.value > last.value ? each : last));
  if (newest === undefined) return {};
  const slots = Number(labelValue(newest.labels, 'max_lora') ?? Number.NaN);
  const running = labelValue(newest.labels, 'running_lora_adapters');
  return {
    adapterSlots: slots > 0 ? slots : undefined,
    runningAdapters: running?.split(',').filter((name) => name !== ''),
  };
}

function isFirstShard(labels: string): boolean {
  return ['tp_rank', 'pp_rank'].every((rank) => (labelValue(labels, rank) ?? '0') === '0');
}

function total(samples: readonly MetricSample[]): number {
  return samples.reduce((sum, { value }) => sum + value, 0);
}

function readNames(apiName: 'vLLM' | 'SGLang'): ReadNames {
  const { metrics } = engineOfApiName(apiName);
  const namesOf = (concept: (typeof READ)[number]): readonly string[] => (metrics[concept] ?? []).map(({ name }) => name);
  const names = {
    running: namesOf('running'),
    waiting: namesOf('waiting'),
    kvUsage: namesOf('kvUsage'),
    kvCapacity: namesOf('kvCapacity'),
    timeToFirstToken: namesOf('timeToFirstToken'),
    interTokenLatency: namesOf('interTokenLatency'),
    loraRequests: namesOf('loraRequests'),
  };
  const wanted = READ.flatMap((concept) =>
    (metrics[concept] ?? []).flatMap(({ name, type }) => (type === 'histogram' ? [`${name}_sum`, `${name}_count`] : [name])),
  );
  return { prefix: `${apiName.toLowerCase()}:`, names, wanted: new Set(wanted) };
}

function defined<T extends object>(value: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as T;
}
