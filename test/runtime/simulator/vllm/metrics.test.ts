import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from '../../../../runtime/lib/random';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { AnswerWriter } from '../../../../runtime/simulator/answer/answer-writer';
import { approximateTokenizer } from '../../../../runtime/simulator/approximate-tokenizer';
import { EngineCore } from '../../../../runtime/simulator/engine-core';
import { engineLimits } from '../../../../runtime/simulator/engine-limits';
import { Generation } from '../../../../runtime/simulator/generation';
import { VllmMetrics } from '../../../../runtime/simulator/vllm/vllm-metrics';
import { labelNames, parseFamilies, seriesValue } from '../../../helpers/prometheus-text';
import { get, post, sendRaw } from '../../../helpers/raw-http';
import { recording } from '../../../helpers/recordings';
import { PLAN, startSimulated } from '../../../helpers/simulated-engine';

const FIXTURES = join(__dirname, '../../../fixtures/engines');

/** Families of the recorded servers that stand for nothing that is simulated. */
const NOT_SIMULATED = /^(python_|process_|http_|vllm:(estimated_|mm_cache_|tool_call_parser_))/;

/** Labels of `cache_config_info` that describe hardware and features which are not simulated. */
const PARTLY_LABELLED = new Set(['vllm:cache_config_info']);

describe.each([
  ['0.32.0', 'vllm-0.32.0'],
  ['0.20.2', 'vllm-0.20.2'],
])('metrics of vLLM %s', (version, folder) => {
  it('are the recorded families with their types, labels and buckets', async () => {
    const recorded = parseFamilies(readFileSync(join(FIXTURES, folder, 'http/metrics_load.resp.http'), 'utf8'));
    const engine = await startSimulated({
      version,
      maxLoras: 2,
      adapters: { 'lora-a': '/a' },
      maxModelLen: version === '0.32.0' ? 1024 : 512,
    });
    await sendRaw(engine.port, post('/v1/completions', { model: 'lora-a', prompt: 'one two', max_tokens: 4 }));
    const mine = parseFamilies((await sendRaw(engine.port, get('/metrics'))).body.toString());
    engine.kill();

    for (const [name, family] of recorded) {
      if (NOT_SIMULATED.test(name)) continue;
      const found = mine.get(name);
      expect([name, found?.type]).toEqual([name, family.type]);
      if (PARTLY_LABELLED.has(name)) expect(labelNames(family)).toEqual(expect.arrayContaining([...labelNames(found!)]));
      else expect([name, labelNames(found!)]).toEqual([name, labelNames(family)]);
      if (family.type === 'histogram') expect([...found!.series.keys()].sort()).toEqual([...family.series.keys()].sort());
    }
    for (const name of mine.keys()) if (!name.startsWith('http_')) expect(recorded.has(name)).toBe(true);
  });
});

describe('names up to 0.10', () => {
  it('are written beside the new ones', async () => {
    const engine = await startSimulated({ version: '0.9.1' });
    const families = parseFamilies((await sendRaw(engine.port, get('/metrics'))).body.toString());
    engine.kill();
    for (const name of ['vllm:gpu_cache_usage_perc', 'vllm:time_per_output_token_seconds', 'vllm:kv_cache_usage_perc'])
      expect(families.has(name)).toBe(true);
  });
});

describe('/metrics', () => {
  it('ignores an OpenMetrics Accept header, as recorded', async () => {
    const { request, answer } = recording('vllm-0.32.0/http', 'metrics_openmetrics_accept');
    const engine = await startSimulated();
    const mine = await sendRaw(engine.port, request);
    engine.kill();
    expect([mine.status, mine.headers['content-type']]).toEqual([answer.status, answer.headers['content-type']]);
  });

  it('lists an adapter that runs as running and as waiting, as recorded', async () => {
    const recorded = parseFamilies(recording('vllm-0.32.0/http', 'metrics_lora_loaded').answer.body.toString());
    const engine = await startSimulated({ maxLoras: 2, adapters: { 'lora-a': '/a', 'lora-b': '/b' } });
    for (const model of ['tiny', 'lora-a', 'lora-b'])
      await sendRaw(engine.port, post('/v1/completions', { model, prompt: 'x', max_tokens: 2 }));
    const mine = parseFamilies((await sendRaw(engine.port, get('/metrics'))).body.toString());
    engine.kill();
    const recordedStates = [...recorded.get('vllm:lora_requests_info')!.series.keys()];
    expect([...mine.get('vllm:lora_requests_info')!.series.keys()].sort()).toEqual(expect.arrayContaining(recordedStates.sort()));
  });
});

describe('what metrics count, in virtual time', () => {
  const clock = new VirtualClock(1_800_000_000_000);
  const limits = engineLimits(PLAN);
  const metrics: VllmMetrics = new VllmMetrics(
    { plan: PLAN, limits, numBlocks: 128, clock, isRecent: true, hasOldNames: false },
    () => [{ index: 0, core }],
  );
  const core: EngineCore = new EngineCore({
    clock,
    stepTime: { baseMs: 50, perPrefillTokenMs: 1, perSequenceMs: 0, perKvTokenMs: 0 },
    ...limits,
    maxNumSeqs: 1,
    numBlocks: 128,
    enablePrefixCaching: true,
    maxLoras: 1,
    observer: {
      onAdmitted(request, atMs, cachedTokens) {
        if (request instanceof Generation) Object.assign(request, { admittedAtMs: atMs, localTokens: cachedTokens });
      },
      onStep: (step) => metrics.onStep(0, step),
    },
  });
  const writer = new AnswerWriter(approximateTokenizer);
  const submit = (id: string): void => {
    const limitsOfAnswer = {
      maxTokens: 5,
      minTokens: 0,
      ignoreEndOfText: true,
      endsAtOnce: false,
      stop: [],
      stopTokenIds: new Set<number>(),
      includeStopInOutput: false,
    };
    const generation = new Generation(
      {
        id,
        promptIds: Array.from({ length: 50 }, (_, i) => i),
        answer: writer.write(limitsOfAnswer, seededRandom(1)),
        blockSize: limits.blockSize,
        arrivedAtMs: clock.monotonic(),
        maxTokens: 5,
        choice: 0,
        choices: 1,
        streams: true,
      },
      { onToken: (it, _index, atMs) => metrics.token(it, atMs), onEnd: (it, outcome) => metrics.ended(it, outcome) },
    );
    metrics.arrived(generation);
    core.submit(generation);
  };

  it('are the times and tokens of the requests', () => {
    submit('first'); // prefill 100 ms, then 4 decodes of 50 ms
    submit('second'); // waits 300 ms; 48 of 50 tokens cached: 52 ms, then 4 × 50 ms
    clock.advance(120);
    const during = parseFamilies(metrics.render());
    expect(seriesValue(during, 'vllm:num_requests_running')).toBe(1);
    expect(seriesValue(during, 'vllm:num_requests_waiting')).toBe(1);
    expect(seriesValue(during, 'vllm:num_requests_waiting_by_reason', 'capacity')).toBe(1);
    expect(seriesValue(during, 'vllm:kv_cache_usage_perc')).toBeCloseTo(4 / 127, 9);
    clock.runToEnd();

    const after = parseFamilies(metrics.render());
    const sum = (name: string): number => seriesValue(after, name, '_sum');
    expect(sum('vllm:time_to_first_token_seconds')).toBeCloseTo(0.1 + 0.352, 9);
    expect(sum('vllm:inter_token_latency_seconds')).toBeCloseTo(8 * 0.05, 9);
    expect(sum('vllm:e2e_request_latency_seconds')).toBeCloseTo(0.3 + 0.552, 9);
    expect(sum('vllm:request_queue_time_seconds')).toBeCloseTo(0.3, 9);
    expect(sum('vllm:request_prefill_time_seconds')).toBeCloseTo(0.152, 9);
    expect(sum('vllm:request_decode_time_seconds')).toBeCloseTo(0.4, 9);
    expect(sum('vllm:request_inference_time_seconds')).toBeCloseTo(0.552, 9);
    expect(sum('vllm:request_time_per_output_token_seconds')).toBeCloseTo(0.1, 9);
    expect(sum('vllm:request_prefill_kv_computed_tokens')).toBe(52);
    expect(sum('vllm:iteration_tokens_total')).toBe(50 + 2 + 8);
    expect(seriesValue(after, 'vllm:prefix_cache_queries_total')).toBe(100);
    expect(seriesValue(after, 'vllm:prefix_cache_hits_total')).toBe(48);
    expect(seriesValue(after, 'vllm:prompt_tokens_by_source_total', 'local_compute')).toBe(52);
    expect(seriesValue(after, 'vllm:generation_tokens_total')).toBe(10);
    expect(seriesValue(after, 'vllm:request_success_total', 'length')).toBe(2);
    expect(seriesValue(after, 'vllm:num_requests_running')).toBe(0);
  });
});
