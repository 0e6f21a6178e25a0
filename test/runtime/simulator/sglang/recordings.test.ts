import { huggingFaceTokenizer, type RunningEngine } from '../../../../runtime/simulator/index';
import { labelNames, parseFamilies, seriesValue } from '../../../helpers/prometheus-text';
import { get, openRaw, post, sendRaw } from '../../../helpers/raw-http';
import { eventsOf, headersThatMatter, MODEL_FOLDER, recordedNames, recording, shapeOf } from '../../../helpers/recordings';
import { startSimulated } from '../../../helpers/simulated-engine';

const FOLDER = 'sglang-0.5.23/http';

/** In the order in which they are sent. */
const COVERED = [
  'get_health',
  'get_health_generate',
  'get_ping',
  'get_version',
  'get_v1_models',
  'chat',
  'chat_n2',
  'chat_no_model',
  'chat_rid',
  'chat_stream',
  'chat_stream_usage',
  'chat_stream_usage_continuous',
  'chat_tools_auto',
  'cmpl',
  'cmpl_batch',
  'cmpl_ids',
  'cmpl_long_cached_1',
  'cmpl_long_cached_2',
  'cmpl_stop',
  'cmpl_stream_usage',
  'tokenize',
  'v1_tokenize',
  'detokenize',
  'err_empty_messages',
  'err_empty_prompt',
  'err_max_tokens_negative',
  'err_max_tokens_over',
  'err_prompt_too_long',
  'err_prompt_too_long_chat_stream',
  'err_temperature_negative',
  'err_unknown_lora_syntax',
  'err_unknown_model',
  'err_unknown_path',
  'err_wrong_content_type',
  'err_wrong_method',
  'flush_cache',
] as const;

/** What is left for SGLang's complete face. */
const NOT_COVERED: Readonly<Record<string, readonly string[]>> = {
  'the native API is not simulated': [
    'generate',
    'generate_batch',
    'generate_bootstrap_fields_ignored',
    'generate_ids',
    'generate_rid',
    'generate_stream',
    'abort_request',
    'err_generate_missing',
    'err_generate_too_long',
  ],
  'logprobs are not simulated': ['chat_logprobs', 'cmpl_echo_logprobs'],
  'the Anthropic, Responses and embedding APIs are not simulated': [
    'messages',
    'messages_stream',
    'responses',
    'embeddings_error',
  ],
  'the description of the server and its load are not simulated': [
    'get_get_load',
    'get_get_model_info',
    'get_get_server_info',
    'get_model_info',
    'get_openapi.json',
    'get_server_info',
    'get_v1_loads',
    'v1_loads_under_load',
  ],
  'LoRA loading is not simulated': ['load_lora_disabled'],
  "the error quotes the server's own source files": ['err_invalid_json', 'err_missing_messages'],
  'a token out of the vocabulary ended the recorded server': ['err_bad_token'],
  'compared below': ['get_metrics', 'metrics_load', 'metrics_after_load', 'metrics_after_abort'],
};

/** The recorded prompt has tools with fields that the server's own types add; the stop string is one of the recorded words. */
const COUNTS_DIFFER = new Set(['chat_tools_auto', 'cmpl_stop']);

describe('SGLang 0.5.23, exchange by exchange', () => {
  let engine: RunningEngine;

  beforeAll(async () => {
    engine = await startSimulated(
      { engine: 'sglang', version: '0.5.23', reportsCachedTokens: true },
      { numBlocks: 128, tokenizer: huggingFaceTokenizer(MODEL_FOLDER) },
    );
  });

  afterAll(() => engine.kill());

  it('has each recorded exchange in one of the two tables', () => {
    const listed = [...COVERED, ...Object.values(NOT_COVERED).flat()].sort();
    expect(listed).toEqual([...recordedNames(FOLDER, 'index.json')].sort());
  });

  it.each(COVERED)('%s', async (name) => {
    const { request, answer: expected } = recording(FOLDER, name);
    const actual = await sendRaw(engine.port, request);
    expect(actual.status).toBe(expected.status);
    expect(headersThatMatter(actual)).toEqual(headersThatMatter(expected));
    if (expected.chunks.length > 0) {
      const [mine, theirs] = [eventsOf(actual), eventsOf(expected)];
      expect(mine.map((event) => shapeOf(event))).toEqual(theirs.map((event) => shapeOf(event)));
      return;
    }
    const [mine, theirs] = [actual.body.toString(), expected.body.toString()];
    if (expected.headers['content-type'] !== 'application/json') return expect(mine).toBe(theirs);
    const [body, wanted] = [JSON.parse(mine), JSON.parse(theirs)];
    if (expected.status >= 400) return expect(body).toEqual(wanted);
    expect(shapeOf(body)).toEqual(shapeOf(wanted));
    expect([body.object, body.model, body.tokens, body.count]).toEqual([
      wanted.object,
      wanted.model,
      wanted.tokens,
      wanted.count,
    ]);
    if (!COUNTS_DIFFER.has(name)) expect(body.usage).toEqual(wanted.usage);
    expect(body.choices?.map(ending)).toEqual(wanted.choices?.map(ending));
  });
});

const ending = (choice: { readonly index: number; readonly finish_reason: unknown; readonly matched_stop: unknown }): unknown => [
  choice.index,
  choice.finish_reason,
  choice.matched_stop,
];

describe('metrics of SGLang 0.5.23', () => {
  it('are recorded families with their types, labels and buckets, and count what happened', async () => {
    const recorded = parseFamilies(recording(FOLDER, 'metrics_after_abort').answer.body.toString());
    const engine = await startSimulated(
      { engine: 'sglang', version: '0.5.23' },
      { stepTime: { baseMs: 2, perPrefillTokenMs: 0, perSequenceMs: 0, perKvTokenMs: 0 }, numBlocks: 48 },
    );
    for (const stream of [true, false])
      await sendRaw(engine.port, post('/v1/completions', { prompt: 'a b', max_tokens: 50, ignore_eos: true, stream }));
    const leaves = openRaw(
      engine.port,
      post('/v1/completions', { prompt: 'a b', max_tokens: 500, ignore_eos: true, stream: true }),
    );
    await leaves.until(({ chunks }) => chunks.length > 1);
    const during = parseFamilies((await sendRaw(engine.port, get('/metrics'))).body.toString());
    leaves.leave();
    while (engine.stats().running > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    const mine = parseFamilies((await sendRaw(engine.port, get('/metrics'))).body.toString());
    engine.kill();

    for (const [name, family] of mine) {
      expect([name, recorded.get(name)?.type]).toEqual([name, family.type]);
      expect([name, labelNames(family)]).toEqual([name, labelNames(recorded.get(name)!)]);
      if (family.type === 'histogram') expect(bounds(family)).toEqual(bounds(recorded.get(name)!));
    }
    expect(seriesValue(during, 'sglang:num_running_reqs')).toBe(1);
    expect(seriesValue(mine, 'sglang:max_total_num_tokens')).toBe(768);
    expect(seriesValue(mine, 'sglang:num_aborted_requests_total')).toBe(1);
    expect(seriesValue(mine, 'sglang:generation_tokens_total', 'is_streaming="true"')).toBe(50);
    expect(seriesValue(mine, 'sglang:gen_throughput')).toBe(0);
    expect(seriesValue(during, 'sglang:gen_throughput')).toBeCloseTo(500, 0);
  });
});

function bounds(family: { readonly series: Map<string, number> }): readonly string[] {
  return [...new Set([...family.series.keys()].flatMap((key) => /le="([^"]+)"/.exec(key)?.[1] ?? []))].sort();
}

describe('the health of SGLang', () => {
  it('needs a token from the engine: a wedged one is not healthy', async () => {
    const engine = await startSimulated({ engine: 'sglang' });
    expect((await sendRaw(engine.port, get('/health'))).status).toBe(200);
    engine.faults.hang();
    const asked = openRaw(engine.port, get('/health'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(asked.answer.status).toBe(0);
    await engine.faults.clear();
    expect((await asked.until(({ isComplete }) => isComplete)).status).toBe(200);
    engine.kill();
  });
});
