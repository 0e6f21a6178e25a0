import { huggingFaceTokenizer, type RunningEngine } from '../../../../runtime/simulator/index';
import { type RawAnswer, sendRaw } from '../../../helpers/raw-http';
import { eventsOf, headersThatMatter, MODEL_FOLDER, recordedNames, recording, shapeOf } from '../../../helpers/recordings';
import { startSimulated } from '../../../helpers/simulated-engine';

/** How an exchange is compared: token counts differ where the model's words decide them; `replace` changes the request by as many bytes. */
type Row = { readonly counts?: 'differ'; readonly replace?: readonly [string, string] };

/** In the order in which they are sent to one engine. */
const COVERED: Readonly<Record<string, Row>> = {
  health: {},
  health_head: {},
  ping_get: {},
  version: {},
  load: {},
  models: {},
  model_one: {},
  tokenize_prompt: {},
  tokenize_prompt_strs: {},
  tokenize_messages: {},
  tokenize_messages_tools: {},
  tokenize_lora: {},
  tokenize_bad_model: {},
  detokenize: {},
  chat: {},
  chat_stream: {},
  chat_stream_usage: {},
  chat_stream_usage_continuous: {},
  // Two tokens of the recorded answers share an event where the first ends within a character.
  chat_stream_n2_usage: { counts: 'differ' },
  // As there, the first token holds a stop string.
  chat_stop_stream: { replace: ['"e", "a", "i"', '"S", "a", "i"'], counts: 'differ' },
  chat_stream_logprobs: {},
  chat_stream_return_token_ids: {},
  chat_return_token_ids: {},
  chat_n2: {},
  chat_logprobs: {},
  chat_lora: {},
  chat_req_id: {},
  chat_user_session_hdr: {},
  chat_no_model: {},
  chat_max_completion_tokens: {},
  chat_cache_salt: {},
  chat_content_parts: {},
  chat_ignore_eos_min_tokens: {},
  chat_tools_auto: {},
  chat_tool_result_turn: {},
  cmpl: {},
  cmpl_long: {},
  cmpl_default_max_tokens: {},
  cmpl_batch_prompts: {},
  cmpl_batch_token_ids: {},
  cmpl_token_ids_prompt: {},
  cmpl_n2: {},
  cmpl_lora: {},
  cmpl_eos: {},
  // The stop string is one of the recorded answer; here one of ours stands for it.
  cmpl_stop: { replace: ['epti', 'mula'], counts: 'differ' },
  cmpl_stop_token_ids: { counts: 'differ' },
  cmpl_echo_max0: {},
  cmpl_echo_logprobs: {},
  cmpl_logprobs: {},
  cmpl_prompt_logprobs: {},
  cmpl_return_token_ids: {},
  cmpl_stream: {},
  cmpl_stream_usage: {},
  cmpl_stream_usage_continuous: {},
  lora_load: {},
  lora_load_again: {},
  lora_load_inplace: {},
  lora_load_missing_field: {},
  lora_load_missing_path: {},
  lora_load_empty: {},
  models_after_load: {},
  chat_lora_b: {},
  lora_unload: {},
  lora_unload_again: {},
  lora_unload_unknown: {},
  models_after_unload: {},
  chat_unloaded_lora: {},
  err_bad_role: {},
  err_bad_schema: {},
  err_bad_token_id: {},
  err_cache_salt_empty: {},
  err_empty_body: {},
  err_empty_messages: {},
  err_empty_prompt: {},
  err_empty_prompt_list: {},
  err_form_content_type: {},
  err_image_input: {},
  err_invalid_json: {},
  err_json_not_object: {},
  err_logprobs_toomany: {},
  err_malformed_http: {},
  err_max_tokens_negative: {},
  err_max_tokens_negative_cmpl: {},
  err_max_tokens_over_ctx: {},
  err_max_tokens_zero_chat: {},
  err_missing_messages: {},
  err_missing_prompt: {},
  err_msg_no_content: {},
  err_n2_greedy: {},
  err_n_zero: {},
  err_no_content_type: {},
  err_options: {},
  err_priority_nonzero: {},
  err_prompt_plus_max_tokens: {},
  err_prompt_too_long_chat: {},
  err_prompt_too_long_cmpl: {},
  err_prompt_too_long_ids: {},
  err_prompt_too_long_stream: {},
  err_stream_options_without_stream: {},
  err_temperature_negative: {},
  err_temperature_string: {},
  err_tool_choice_no_tools: {},
  err_tool_choice_unknown: {},
  err_top_p: {},
  err_unknown_extra_field: {},
  err_unknown_model_chat: {},
  err_unknown_model_cmpl: {},
  err_unknown_model_stream: {},
  err_unknown_path: {},
  err_unknown_path_post: {},
  err_wrong_content_type: {},
  err_wrong_method: {},
  err_wrong_method_delete: {},
  embeddings_error: {},
  classify_error: {},
  pooling_error: {},
  score_error: {},
  rerank_error: {},
  reset_prefix_cache: {},
};

/** Everything else that was recorded, by why it is not compared here. */
const NOT_COVERED: Readonly<Record<string, readonly string[]>> = {
  'the Anthropic and Responses APIs are not simulated': [
    'messages',
    'messages_stream',
    'messages_bad_model',
    'messages_count_tokens',
    'messages_missing_max_tokens',
    'messages_missing_messages',
    'responses',
    'responses_get_unknown',
    'responses_messages_input',
    'responses_stream',
  ],
  'answers hold no tool calls and follow no schema': [
    'chat_tools_named',
    'chat_tools_named_stream',
    'chat_tools_required',
    'chat_tools_required_stream',
    'chat_json_schema',
  ],
  'tokens in and out, rendering and batches are not simulated': [
    'cmpl_render',
    'chat_render',
    'chat_batch',
    'inference_generate',
    'invocations',
    'systemone_empty',
  ],
  'KV events, sleep and the description of the server are not simulated': [
    'is_paused',
    'is_sleeping',
    'kv_event_sources',
    'openapi',
    'server_info',
  ],
  'compared in metrics.test.ts': [
    'metrics_idle',
    'metrics_load',
    'metrics_after_load',
    'metrics_lora_loaded',
    'metrics_openmetrics_accept',
  ],
  'compared by behaviour in client-leaves.test.ts': [
    'abort_midstream',
    'metrics_before_abort',
    'metrics_during_abort',
    'metrics_after_abort',
    'metrics_after_abort_nonstream',
  ],
};

const FOLDER = 'vllm-0.32.0/http';

describe('vLLM 0.32.0, exchange by exchange', () => {
  let engine: RunningEngine;

  beforeAll(async () => {
    engine = await startSimulated(
      { adapters: { 'lora-a': '/models/lora-a' }, maxLoras: 2 },
      { tokenizer: huggingFaceTokenizer(MODEL_FOLDER), adapterExists: (path) => path !== '/models/nope' },
    );
  });

  afterAll(() => engine.kill());

  it('has each recorded exchange in one of the two tables', () => {
    const listed = [...Object.keys(COVERED), ...Object.values(NOT_COVERED).flat()].sort();
    expect(listed).toEqual([...recordedNames(FOLDER, 'index_a.json')].sort());
  });

  it.each(Object.entries(COVERED))('%s', async (name, { counts, replace }) => {
    const { request, answer: expected } = recording(FOLDER, name);
    const bytes = replace === undefined ? request : Buffer.from(request.toString('latin1').replace(...replace), 'latin1');
    const actual = await sendRaw(engine.port, bytes);

    expect(actual.status).toBe(expected.status);
    expect(headersThatMatter(actual)).toEqual(headersThatMatter(expected));
    if (expected.chunks.length > 0) compareStreams(actual, expected, counts === 'differ');
    else compareBodies(actual, expected, counts === 'differ');
  });
});

describe('vLLM 0.32.0 with an API key', () => {
  const paths = ['health', 'metrics', 'tokenize', 'version', 'load', 'v1_models', 'v1_chat_completions', 'v1_load_lora_adapter'];
  const names = ['nokey', 'badkey', 'goodkey'].flatMap((key) => paths.map((path) => `${key}_${path}`));
  let engine: RunningEngine;

  beforeAll(async () => {
    engine = await startSimulated(
      { apiKey: 'sk-test', adapters: { 'lora-a': '/models/lora-a' }, maxLoras: 2, maxModelLen: 512, reportsCachedTokens: true },
      { tokenizer: huggingFaceTokenizer(MODEL_FOLDER) },
    );
  });

  afterAll(() => engine.kill());

  it.each(names)('%s', async (name) => {
    const { request, answer: expected } = recording('vllm-0.32.0/http-apikey', name);
    const actual = await sendRaw(engine.port, request);
    expect(actual.status).toBe(expected.status);
    expect(headersThatMatter(actual)).toEqual(headersThatMatter(expected));
    if (!name.endsWith('metrics')) compareBodies(actual, expected, false);
  });
});

describe('vLLM 0.32.0 that tells cached tokens', () => {
  it('counts them and what it added as recorded, in one piece and at the end of a stream', async () => {
    const engine = await startSimulated(
      { reportsCachedTokens: true, maxModelLen: 512 },
      { numBlocks: 48, tokenizer: huggingFaceTokenizer(MODEL_FOLDER) },
    );
    for (const name of ['chat_cached_tokens', 'chat_cached_tokens_2', 'chat_cached_stream']) {
      const { request, answer: expected } = recording('vllm-0.32.0/http-scaleout', name);
      const actual = await sendRaw(engine.port, request);
      if (expected.chunks.length > 0) compareStreams(actual, expected, false);
      else compareBodies(actual, expected, false);
    }
    engine.kill();
  });
});

/** 0.20.2 answers these with its own source lines and the whole input; here it is 0.32's sentence under the same status and type. */
const QUOTES_SOURCE = new Set([
  'err_bad_schema',
  'err_cache_salt_empty',
  'err_empty_body',
  'err_empty_prompt',
  'err_invalid_json',
  'err_missing_messages',
  'err_missing_prompt',
  'err_stream_options_without_stream',
  'err_temperature_string',
  'err_tool_choice_no_tools',
  'err_tool_choice_unknown',
  'lora_load_missing_field',
]);

describe('vLLM 0.20.2, exchange by exchange', () => {
  let engine: RunningEngine;

  beforeAll(async () => {
    engine = await startSimulated(
      { version: 'v0.20.2', adapters: { 'lora-a': '/models/lora-a' }, maxLoras: 2, maxModelLen: 512, reportsCachedTokens: true },
      { numBlocks: 48, tokenizer: huggingFaceTokenizer(MODEL_FOLDER), adapterExists: (path) => path !== '/models/nope' },
    );
  });

  afterAll(() => engine.kill());

  it('was recorded with the same exchanges', () => {
    expect([...recordedNames('vllm-0.20.2/http', 'index_a.json')].sort()).toEqual(
      [...recordedNames(FOLDER, 'index_a.json')].sort(),
    );
  });

  it.each(Object.entries(COVERED))('%s', async (name, { counts, replace }) => {
    const { request, answer: expected } = recording('vllm-0.20.2/http', name);
    const bytes = replace === undefined ? request : Buffer.from(request.toString('latin1').replace(...replace), 'latin1');
    const actual = await sendRaw(engine.port, bytes);
    expect(actual.status).toBe(expected.status);
    expect(headersThatMatter(actual)).toEqual(headersThatMatter(expected));
    if (QUOTES_SOURCE.has(name)) {
      const [mine, theirs] = [JSON.parse(actual.body.toString()), JSON.parse(expected.body.toString())];
      expect({ ...mine.error, message: '' }).toEqual({ ...theirs.error, message: '' });
    } else if (expected.chunks.length > 0) compareStreams(actual, expected, counts === 'differ');
    else compareBodies(actual, expected, counts === 'differ');
  });
});

function compareBodies(actual: RawAnswer, expected: RawAnswer, countsDiffer: boolean): void {
  const [mine, theirs] = [actual.body.toString(), expected.body.toString()];
  if (expected.headers['content-type'] !== 'application/json' || expected.body.length === 0) {
    expect(mine).toBe(theirs);
    return;
  }
  const [body, wanted] = [JSON.parse(mine), JSON.parse(theirs)];
  if (expected.status >= 400) {
    expect(body).toEqual(wanted);
    return;
  }
  expect(shapeOf(body)).toEqual(shapeOf(wanted));
  for (const field of [
    'object',
    'model',
    'count',
    'max_model_len',
    'tokens',
    'token_strs',
    'prompt',
    'version',
    'server_load',
    'success',
    'prompt_token_ids',
  ]) {
    expect(body[field]).toEqual(wanted[field]);
  }
  if (Array.isArray(wanted.data)) expect(body.data.map(withoutTime)).toEqual(wanted.data.map(withoutTime));
  if (wanted.id !== undefined) expect(idPattern(body.id)).toBe(idPattern(wanted.id));
  if (countsDiffer) return;
  expect(body.usage).toEqual(wanted.usage);
  expect(body.choices?.map(ending)).toEqual(wanted.choices?.map(ending));
}

/** Order, keys and framing of the events. */
function compareStreams(actual: RawAnswer, expected: RawAnswer, countsDiffer: boolean): void {
  const [mine, theirs] = [eventsOf(actual), eventsOf(expected)] as unknown as [StreamEvent[], StreamEvent[]];
  const shapes = (events: readonly StreamEvent[]): unknown[] =>
    countsDiffer ? collapse(events.map((event) => shapeOf(event))) : events.map((event) => shapeOf(event));
  expect(actual.isComplete).toBe(true);
  expect(shapes(mine)).toEqual(shapes(theirs));
  expect(mine.at(-1)).toBe('[DONE]');
  if (countsDiffer) return;
  expect(mine.map((event) => event.usage)).toEqual(theirs.map((event) => event.usage));
  expect(mine.map((event) => event.choices?.map(ending))).toEqual(theirs.map((event) => event.choices?.map(ending)));
}

interface StreamEvent {
  readonly usage?: unknown;
  readonly choices?: readonly { readonly index: number; readonly finish_reason: unknown; readonly stop_reason?: unknown }[];
}

const ending = (choice: { readonly index: number; readonly finish_reason: unknown; readonly stop_reason?: unknown }): unknown => [
  choice.index,
  choice.finish_reason,
  choice.stop_reason,
];

function collapse(shapes: readonly unknown[]): unknown[] {
  const texts = shapes.map((shape) => JSON.stringify(shape));
  return texts.filter((text, i) => text !== texts[i - 1]);
}

function withoutTime({
  created: _created,
  permission,
  ...rest
}: {
  readonly created: number;
  readonly permission: unknown;
}): unknown {
  return { ...rest, permission: shapeOf(permission) };
}

/** A random part of an id counts by its length. */
function idPattern(id: string): string {
  return id.replace(/[0-9a-f]{16}/, 'x'.repeat(16));
}
