import { ENGINES } from '../../src/catalog/engines/engine-table';
import type { MetricConcept } from '../../src/catalog/engines/metrics';
import { Labels } from '../../src/labels';
import type { PrometheusRuleEntry } from '../kube/prometheus-rule';

/** Pod labels that Prometheus puts on the series of engines. */
export const ENGINE_LABELS = [Labels.model, Labels.pool] as const;
/** Name of a model's label on series: Prometheus writes letters, digits and _ only. */
export const MODEL_LABEL = Labels.model.replaceAll(/[^A-Za-z0-9_]/g, '_');

/** Series of one name over all engines and their versions, per namespace and model. */
export const ENGINE_SERIES = {
  running: 'kvasir:engine_running_requests:sum',
  waiting: 'kvasir:engine_waiting_requests:avg',
  kvUsage: 'kvasir:engine_kv_cache_usage:avg',
  preemptions: 'kvasir:engine_preemptions:rate5m',
  generationTokens: 'kvasir:engine_generation_tokens:rate5m',
} as const satisfies Partial<Record<MetricConcept, string>>;

/** Rules that make `ENGINE_SERIES`, so that alerts and dashboards outlive the renaming of an engine's metrics. */
export function engineSeries(): readonly PrometheusRuleEntry[] {
  return Object.entries(ENGINE_SERIES).map(([concept, record]) => ({
    record,
    expr: aggregated(record.slice(record.lastIndexOf(':') + 1), namesOf(concept as MetricConcept)),
  }));
}

function aggregated(how: string, names: readonly string[]): string {
  const isRate = how === 'rate5m';
  const either = names.map((name) => (isRate ? `rate(${name}[5m])` : name)).join(' or ');
  return `${isRate ? 'sum' : how} by (namespace, ${MODEL_LABEL}) (${either})`;
}

/** Every name that an engine has, or had, for a concept. */
function namesOf(concept: MetricConcept): readonly string[] {
  return Object.values(ENGINES).flatMap(({ metrics }) => (metrics[concept] ?? []).map(({ name }) => name));
}
