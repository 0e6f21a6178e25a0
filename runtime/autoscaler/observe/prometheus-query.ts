import type { PrometheusMetricSource } from '../../../src/api/autoscaling-policy';
import type { MetricReading } from '../decide/observation';
import type { HttpReader } from './http-reader';
import type { PrometheusAccess } from './prometheus-access';

/** Answers about an earlier time are refused: a cache or a replica that lags gave them. */
const OLDEST_MS = 120_000;

/**
 * Asks a Prometheus server for one number: an instant query whose result is a scalar, or a vector of exactly one sample. Samples that were
 * scraped more than two minutes ago do not count (`lookback_delta`; servers that do not know it look back five).
 */
export async function queryPrometheus(
  { serverURL, query }: PrometheusMetricSource,
  http: HttpReader,
  access: PrometheusAccess,
): Promise<MetricReading> {
  if (!/^https?:\/\//.test(serverURL)) return { kind: 'missing', reason: `serverURL ${serverURL} is neither http nor https` };
  const how = await access.of(serverURL);
  if (how.kind === 'unusable') return { kind: 'missing', reason: how.reason };
  const parameters = new URLSearchParams({ query, lookback_delta: `${OLDEST_MS / 1000}s` });
  const answer = await http.readDated(`${serverURL.replace(/\/+$/, '')}/api/v1/query?${parameters}`, how.options);
  if (answer.kind === 'failed') return { kind: 'missing', reason: `Prometheus at ${serverURL} ${answer.reason}` };
  return readAnswer(answer.text, answer.dateMs);
}

/**
 * Reads the answer of Prometheus' query API.
 *
 * @param dateMs when it was given, by the server's own clock; undefined: it did not say.
 */
export function readAnswer(text: string, dateMs?: number): MetricReading {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return { kind: 'missing', reason: 'the answer of Prometheus is not JSON' };
  }
  const { status, data } = (answer ?? {}) as { status?: string; data?: { resultType?: string; result?: unknown } };
  if (status !== 'success' || !Array.isArray(data?.result)) return { kind: 'missing', reason: 'Prometheus refused the query' };
  const sample: unknown =
    data.resultType === 'scalar' ? data.result : data.result.length === 1 ? data.result[0]?.value : undefined;
  if (!Array.isArray(sample))
    return { kind: 'missing', reason: `the query gives ${data.result.length} samples; make it give one` };
  const ageMs = dateMs === undefined ? 0 : dateMs - Number(sample[0]) * 1000;
  if (ageMs > OLDEST_MS) return { kind: 'missing', reason: `the answer of Prometheus is ${Math.round(ageMs / 1000)} s old` };
  const value = Number(sample[1]);
  return Number.isFinite(value)
    ? { kind: 'external', value }
    : { kind: 'missing', reason: `the query gives ${String(sample[1])}` };
}
