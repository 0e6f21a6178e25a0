import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { readObservation } from '../../../../runtime/router/endpoints/engine-observation';
import { labelValue, scanMetrics } from '../../../../runtime/router/endpoints/metrics-scan';

function recorded(name: string): string {
  const response = readFileSync(join(__dirname, '../../../fixtures/engines', name), 'utf8');
  return response.slice(response.indexOf('\r\n\r\n') + 4);
}

describe('a metrics page', () => {
  it.each([
    [
      'vllm-0.32.0/http/metrics_load.resp.http',
      'vLLM',
      {
        running: 4,
        waiting: 6,
        kvUsage: 0.2834645669291339,
        kvCapacityTokens: 2048,
        timeToFirstToken: { sumSeconds: 24.36430525779724, count: 68 },
        interTokenLatency: { sumSeconds: 4.554847135999921, count: 821 },
        adapterSlots: 2,
        runningAdapters: ['lora-a', 'lora-b'],
      },
    ],
    [
      'vllm-0.20.2/http/metrics_during_abort.resp.http',
      'vLLM',
      {
        running: 1,
        waiting: 0,
        kvUsage: 0.021276595744680882,
        kvCapacityTokens: 768,
        timeToFirstToken: { sumSeconds: 53.05678963661194, count: 75 },
        interTokenLatency: { sumSeconds: 55.73249066399785, count: 4711 },
        adapterSlots: 2,
        runningAdapters: [],
      },
    ],
    [
      'sglang-0.5.23/http/metrics_load.resp.http',
      'SGLang',
      {
        running: 4,
        waiting: 4,
        kvUsage: 0.5,
        kvCapacityTokens: 768,
        timeToFirstToken: { sumSeconds: 0.19662882355942202 + 0.04037753700049507, count: 31 },
        interTokenLatency: { sumSeconds: 0.06410480400018059, count: 24 },
      },
    ],
  ] as const)('as recorded from %s tells load, cache and latencies', (name, engine, expected) => {
    expect(readObservation(recorded(name), engine)).toEqual(expected);
  });

  it('of several data-parallel ranks counts them together, and takes the mean share of cache', () => {
    const page = [0, 1]
      .flatMap((rank) => [
        `vllm:num_requests_running{engine="${rank}",model_name="m"} ${3 + rank}`,
        `vllm:kv_cache_usage_perc{engine="${rank}",model_name="m"} ${0.2 + 0.4 * rank}`,
        `vllm:cache_config_info{block_size="16",engine="${rank}",num_gpu_blocks="100"} 1.0`,
      ])
      .join('\n');
    expect(readObservation(page, 'vLLM')).toEqual({ running: 7, kvUsage: 0.4, kvCapacityTokens: 3200 });
  });

  it('of several tensor-parallel ranks counts the first, since the others repeat it', () => {
    const page = [0, 1].map((rank) => `sglang:num_running_reqs{dp_rank="0",tp_rank="${rank}"} 5`).join('\n');
    expect(readObservation(page, 'SGLang')).toEqual({ running: 5 });
  });

  it('of an older vLLM is read under its old names', () => {
    const page =
      'vllm:gpu_cache_usage_perc{model_name="m"} 0.25\nvllm:time_per_output_token_seconds_sum 2\nvllm:time_per_output_token_seconds_count 8\n';
    expect(readObservation(page, 'vLLM')).toEqual({ kvUsage: 0.25, interTokenLatency: { sumSeconds: 2, count: 8 } });
  });

  it('that lacks a family leaves it unknown, which is not zero', () => {
    expect(readObservation('# HELP nothing\nprocess_cpu_seconds_total 1\n', 'vLLM')).toEqual({});
    expect(readObservation('', 'SGLang')).toEqual({});
  });

  it('is scanned with the same result as line by line, wherever wanted lines stand', () => {
    const line = fc.constantFrom(
      'vllm:a 1',
      'vllm:a{x="y"} 2',
      'vllm:ab 3',
      'vllm:b{x="}"} 4 1700000000',
      '# TYPE vllm:a gauge',
      'other 5',
      '',
      'vllm:b NaN',
      'x vllm:a 9',
      'vllm:a{x="1"',
    );
    const wanted = new Set(['vllm:a', 'vllm:b']);
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const expected = lines.flatMap((each) => {
          const match = /^(vllm:[ab])(?:\{(.*)\})? (\d+)/.exec(each);
          return match === null ? [] : [{ name: match[1], labels: match[2] ?? '', value: Number(match[3]) }];
        });
        expect(scanMetrics(lines.join('\n'), 'vllm:', wanted)).toEqual(expected);
      }),
    );
  });

  it('has label values unescaped', () => {
    expect(labelValue('a="1",b="x\\"y\\\\z\\n",ab="2"', 'b')).toBe('x"y\\z\n');
    expect(labelValue('ab="2"', 'b')).toBeUndefined();
  });
});
