import type { PrometheusMetricSource } from '../../../src/api/autoscaling-policy';
import type { MetricReading } from '../decide/observation';
import type { HttpReader } from './http-reader';

/** Asks a Prometheus server for one number: an instant query whose result is a scalar, or a vector of exactly one sample. */
export async function queryPrometheus({ serverURL, query }: PrometheusMetricSource, http: HttpReader): Promise<MetricReading> {
  if (!/^https?:\/\//.test(serverURL)) return { kind: 'missing', reason: `serverURL ${serverURL} is neither http nor https` };
  const answer = await http.read(`${serverURL.replace(/\/+$/, '')}/api/v1/query?query=${encodeURIComponent(query)}`);
  if (answer.kind === 'failed') return { kind: 'missing', reason: `Prometheus at ${serverURL} ${answer.reason}` };
  return readAnswer(answer.text);
}

/** Reads the answer of Prometheus' query API. */
export function readAnswer(text: string): MetricReading {
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
  const value = Number(sample[1]);
  return Number.isFinite(value)
    ? { kind: 'external', value }
    : { kind: 'missing', reason: `the query gives ${String(sample[1])}` };
}
