import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Family, parseMetricsPage } from '../../../../runtime/autoscaler/observe/metrics-page';
import { HistogramError, merge, quantile, since } from '../../../../runtime/autoscaler/observe/quantile';

function recorded(engine: string, name: string): string {
  const text = readFileSync(join(__dirname, '../../../fixtures/engines', engine, 'http', `${name}.resp.http`), 'utf8');
  return text.slice(text.indexOf('\n\n') < 0 ? text.indexOf('\r\n\r\n') : text.indexOf('\n\n'));
}

function familyOf(text: string, name: string): Family | undefined {
  return parseMetricsPage(text, new Set([name])).get(name);
}

function valuesOf(family: Family | undefined): readonly number[] {
  return family !== undefined && 'series' in family && family.type !== 'histogram' ? [...family.series.values()] : [];
}

describe('recorded pages', () => {
  it.each([
    ['vllm-0.32.0', 'metrics_idle', 'vllm:num_requests_running', 'gauge', [0]],
    ['vllm-0.32.0', 'metrics_load', 'vllm:num_requests_running', 'gauge', [4]],
    ['vllm-0.32.0', 'metrics_load', 'vllm:num_requests_waiting', 'gauge', [6]],
    ['vllm-0.32.0', 'metrics_load', 'vllm:kv_cache_usage_perc', 'gauge', [0.2834645669291339]],
    ['vllm-0.32.0', 'metrics_load', 'vllm:generation_tokens_total', 'counter', [889]],
    ['vllm-0.32.0', 'metrics_load', 'vllm:request_success_total', 'counter', [6, 58, 0, 0, 0]],
    ['sglang-0.5.23', 'metrics_load', 'sglang:num_running_reqs', 'gauge', [4]],
    ['sglang-0.5.23', 'metrics_load', 'sglang:num_queue_reqs', 'gauge', [4]],
    ['sglang-0.5.23', 'metrics_load', 'sglang:token_usage', 'gauge', [0.5]],
  ])('%s %s: %s is a %s of %j', (engine, page, name, type, values) => {
    const family = familyOf(recorded(engine, page), name);
    expect(family?.type).toBe(type);
    expect(valuesOf(family)).toEqual(values);
  });

  it('the time to the first token is a histogram whose p95 follows from its buckets', () => {
    const idle = familyOf(recorded('vllm-0.32.0', 'metrics_idle'), 'vllm:time_to_first_token_seconds');
    const load = familyOf(recorded('vllm-0.32.0', 'metrics_load'), 'vllm:time_to_first_token_seconds');
    const after = familyOf(recorded('vllm-0.32.0', 'metrics_after_load'), 'vllm:time_to_first_token_seconds');
    if (idle?.type !== 'histogram' || load?.type !== 'histogram' || after?.type !== 'histogram') throw new Error('no histogram');
    const [before, during, then] = [idle, load, after].map(({ series }) => [...series.values()][0]!) as [never, never, never];
    // 68 observations: rank 65 lies third of four in the bucket from 0.04 to 0.06 s.
    expect(quantile(since(during, before), 95)).toBeCloseTo(0.055, 10);
    // 6 observations: rank 6 is the last of two in the bucket from 5 to 7.5 s.
    expect(quantile(since(then, during), 95)).toBeCloseTo(7.5, 10);
  });

  it('only wanted families are read', () => {
    const page = parseMetricsPage(recorded('vllm-0.32.0', 'metrics_load'), new Set(['vllm:num_requests_running']));
    expect([...page.keys()]).toEqual(['vllm:num_requests_running']);
  });
});

describe('the text format', () => {
  it('reads labels with quotes, braces and backslashes in their values', () => {
    const family = familyOf('# TYPE m gauge\nm{a="x}y,z=\\"1\\"",b="\\\\"} 2 1700000000000\nm{a="other"} 3\n', 'm');
    expect(valuesOf(family)).toEqual([2, 3]);
  });

  it('keys series by their labels, in any order', () => {
    const one = familyOf('m{a="1",b="2"} 1', 'm');
    const other = familyOf('m{b="2",a="1"} 1', 'm');
    expect(one).toEqual(other);
  });

  it('knows the special numbers', () => {
    expect(valuesOf(familyOf('m{i="1"} +Inf\nm{i="2"} -Inf\nm{i="3"} NaN\nm{i="4"} 1e3\n', 'm'))).toEqual([
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.NaN,
      1000,
    ]);
  });

  it('finds an OpenMetrics counter by either of its names', () => {
    const text = '# TYPE requests counter\nrequests_total 7\nrequests_created 1\n# EOF\n';
    expect(familyOf(text, 'requests')).toMatchObject({ type: 'counter' });
    expect(familyOf(text, 'requests_total')).toMatchObject({ type: 'counter' });
    expect(valuesOf(familyOf(text, 'requests'))).toEqual([7]);
    expect(valuesOf(familyOf(text, 'requests_total'))).toEqual([7]);
  });

  it('passes over lines that are no samples', () => {
    expect(valuesOf(familyOf('m\nm{\nm{a="1" 3\nm x\n\n# note\nm 4\n', 'm'))).toEqual([4]);
  });

  it('names a summary as what it is', () => {
    expect(familyOf('# TYPE s summary\ns{quantile="0.5"} 1\ns_sum 3\ns_count 2\n', 's')).toEqual({ type: 'summary' });
  });
});

describe('a quantile', () => {
  const bounds = [1, 2, 4, Number.POSITIVE_INFINITY];

  it.each([
    ['nothing observed', [0, 0, 0, 0], 95, 0],
    ['all in the first bucket, which starts at 0', [10, 10, 10, 10], 50, 0.5],
    ['inside a bucket, linearly', [0, 10, 10, 10], 50, 1.5],
    ['beyond the last bound, which ends at its double', [0, 0, 0, 10], 50, 6],
    ['the last of all', [1, 2, 3, 4], 99, 8],
  ])('%s', (_, counts, percentile, expected) => {
    expect(quantile({ bounds, counts }, percentile)).toBeCloseTo(expected, 10);
  });

  it('refuses counts that go back, buckets that changed, and counts that are not cumulative', () => {
    const low = { bounds, counts: [1, 1, 1, 1] };
    const high = { bounds, counts: [2, 2, 2, 2] };
    expect(() => since(low, high)).toThrow(HistogramError);
    expect(() => since(high, { bounds: [1, 2], counts: [1, 1] })).toThrow(HistogramError);
    expect(() => merge([high, { bounds: [1, 2], counts: [1, 1] }])).toThrow(HistogramError);
    expect(() => quantile({ bounds, counts: [2, 1, 3, 4] }, 95)).toThrow(HistogramError);
  });
});
