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
  'generate',
  'generate_batch',
  'generate_bootstrap_fields_ignored',
  'generate_ids',
  'generate_rid',
  'generate_stream',
  'err_generate_missing',
  'err_generate_too_long',
  'abort_request',
  'chat_logprobs',
  'cmpl_echo_logprobs',
  'embeddings_error',
  'err_invalid_json',
  'err_missing_messages',
  'load_lora_disabled',
  'get_get_load',
  'get_model_info',
  'get_get_model_info',
  'get_server_info',
  'get_get_server_info',
  'get_v1_loads',
  'flush_cache',
] as const;

/** Everything else that was recorded, by why it is not compared. */
const NOT_COVERED: Readonly<Record<string, readonly string[]>> = {
  'the Anthropic and Responses APIs are not simulated': ['messages', 'messages_stream', 'responses'],
  'the description of the whole API is not simulated': ['get_openapi.json'],
  'recorded without the request': ['v1_loads_under_load'],
  'ends the server: compared below': ['err_bad_token'],
  'compared below': ['get_metrics', 'metrics_load', 'metrics_after_load', 'metrics_after_abort'],
};

/** Their messages go on with the server's own source files. */
const QUOTES_SOURCE = new Set(['err_invalid_json', 'err_missing_messages']);

/** Descriptions of the server, of which those members are given that a plan knows. */
const PARTIAL = new Set(['get_model_info', 'get_get_model_info', 'get_server_info', 'get_get_server_info', 'get_v1_loads']);

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
    if (QUOTES_SOURCE.has(name)) return expect({ ...body, message: '' }).toEqual({ ...wanted, message: '' });
    if (PARTIAL.has(name)) return comparePart(body, wanted, name);
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
    for (const [i, one] of [wanted].flat().entries()) {
      const { finish_reason, prompt_tokens, completion_tokens } = one.meta_info ?? {};
      const answer = [body].flat()[i]!;
      expect(answer.output_ids?.length).toBe(one.output_ids?.length);
      expect(answer.meta_info ?? {}).toMatchObject(
        one.meta_info === undefined ? {} : { finish_reason, prompt_tokens, completion_tokens },
      );
    }
  });

  it('ends without an answer at a token that the model does not have', async () => {
    const victim = await startSimulated(
      { engine: 'sglang', version: '0.5.23' },
      { tokenizer: huggingFaceTokenizer(MODEL_FOLDER) },
    );
    expect((await sendRaw(victim.port, recording(FOLDER, 'err_bad_token').request)).status).toBe(0);
    expect(await victim.exited).toEqual({ reason: 'the engine core died' });
  });
});

/** Each member is one of the recorded, of the recorded type, and those that say the same of both engines are equal. */
function comparePart(body: Readonly<Record<string, unknown>>, wanted: Readonly<Record<string, unknown>>, path: string): void {
  for (const [name, value] of Object.entries(body)) {
    expect([path, name, name in wanted]).toEqual([path, name, true]);
    const recorded = wanted[name];
    if (Array.isArray(value)) {
      for (const [i, element] of value.entries())
        comparePart(element, (recorded as Record<string, unknown>[])[i]!, `${path}.${name}`);
    } else if (typeof value === 'object' && value !== null) {
      comparePart(value as Record<string, unknown>, recorded as Record<string, unknown>, `${path}.${name}`);
    } else if (!OWN.has(name)) {
      expect([path, name, value]).toEqual([path, name, recorded]);
    }
  }
}

/** Members that depend on the moment, on what was served before, or on flags that the plan of this test does not have. */
const OWN = new Set([
  'timestamp',
  'cache_hit_rate',
  'total_prefill_uncached_tokens',
  'dtype',
  'chunked_prefill_size',
  'max_loras_per_batch',
  'max_total_num_tokens',
  'max_req_input_len',
  'token_capacity',
]);

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
