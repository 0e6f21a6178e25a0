import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { huggingFaceTokenizer, type RunningEngine, wallClock } from '../../../../runtime/simulator/index';
import { NIXL } from '../../../helpers/kv-plans';
import { labelNames, parseFamilies, seriesValue } from '../../../helpers/prometheus-text';
import { get, openRaw, post, type RawAnswer, sendRaw } from '../../../helpers/raw-http';
import { eventsOf, headersThatMatter, MODEL_FOLDER, recording, shapeOf } from '../../../helpers/recordings';
import { startSimulated } from '../../../helpers/simulated-engine';

const FOLDER = 'vllm-0.32.0/kv-transfer/nixl';
const METRICS = join(__dirname, '../../../fixtures/engines', FOLDER);
const TOKENIZER = huggingFaceTokenizer(MODEL_FOLDER);
/** Decode's five seconds are 50 ms. */
const SPEED = 100;

interface Answer {
  readonly choices: readonly { readonly text?: string }[];
  readonly usage: unknown;
  readonly kv_transfer_params: Params | null;
}

type Params = Readonly<Record<string, unknown>> & { readonly remote_request_id: string; readonly remote_port: number };

const start = (speed = SPEED): Promise<RunningEngine> =>
  startSimulated(
    { maxModelLen: 512, reportsCachedTokens: true, kvTransfer: NIXL },
    { numBlocks: 64, tokenizer: TOKENIZER, clock: wallClock(speed), kvPort: 0, kvLinkGBps: Number.POSITIVE_INFINITY },
  );

const bodyOf = (name: string): Record<string, unknown> =>
  JSON.parse(recording(FOLDER, name).request.toString('utf8').split('\r\n\r\n')[1]!);

const json = ({ body }: RawAnswer): Answer => JSON.parse(body.toString());

/** The recorded request of decode with what another prefill told. */
const decodeRequest = (name: string, params: unknown): string => {
  const head = recording(FOLDER, name).request.toString('utf8').split('\r\n')[0]!;
  return post(head.split(' ')[1]!, { ...bodyOf(name), kv_transfer_params: params });
};

describe('NIXL of vLLM 0.32.0, exchange by exchange', () => {
  let prefill: RunningEngine;
  let decode: RunningEngine;
  const handed = new Map<string, Params>();

  beforeAll(async () => {
    [prefill, decode] = await Promise.all([start(1), start(1)]);
  });

  afterAll(() => {
    prefill.kill();
    decode.kill();
  });

  it.each([
    'p_00_reset',
    'p_01_prefill',
    'p_03_prefill_chat',
    'p_05_prefill_stream',
    'p_06_minimal_params',
    'p_07_short_prompt',
    'p_08_max_tokens_4',
    'p_09_no_params',
    'p_10_params_not_object',
    'p_11_batch_prompts',
    'p_12_n2',
    'p_14_prefill',
  ])('prefill: %s', async (name) => {
    const { request, answer: expected } = recording(FOLDER, name);
    const actual = await sendRaw(prefill.port, request);
    expect(actual.status).toBe(expected.status);
    expect(headersThatMatter(actual)).toEqual(headersThatMatter(expected));
    if (expected.chunks.length > 0) {
      expect(eventsOf(actual).map((event) => shapeOf(event))).toEqual(eventsOf(expected).map((event) => shapeOf(event)));
      return;
    }
    const [mine, theirs] = [json(actual), json(expected)];
    if (expected.status >= 400) return expect(mine).toEqual(theirs);
    expect(shapeOf(mine)).toEqual(shapeOf(theirs));
    expect(mine.usage).toEqual(theirs.usage);
    const [params, wanted] = [mine.kv_transfer_params, theirs.kv_transfer_params];
    if (!params || !wanted) return expect(params).toEqual(wanted);
    handed.set(name, params);
    expect({ ...params, ...OWN }).toEqual({ ...wanted, ...OWN });
    expect(pattern(params.remote_request_id)).toBe(pattern(wanted.remote_request_id));
    expect(blockCount(params)).toBe(blockCount(wanted));
    expect(params.remote_port).toBe(prefill.kvAddress!.port);
  });

  it.each([
    ['d_00_reset', undefined],
    ['d_02_decode', 'p_01_prefill'],
    ['d_04_decode_chat_stream', 'p_03_prefill_chat'],
    ['d_15_decode', 'p_14_prefill'],
    ['d_16_decode_local_prefix_hit', 'p_14_prefill'],
    ['d_17_reuse_params_after_consumed', 'p_14_prefill'],
    ['d_ref_no_pd', undefined],
  ])('decode: %s', async (name, source) => {
    const { request, answer: expected } = recording(FOLDER, name);
    const actual = await sendRaw(decode.port, source === undefined ? request : decodeRequest(name, handed.get(source)));
    expect(actual.status).toBe(expected.status);
    if (expected.chunks.length > 0) {
      const [mine, theirs] = [eventsOf(actual), eventsOf(expected)];
      expect(mine.map((event) => shapeOf(event))).toEqual(theirs.map((event) => shapeOf(event)));
      expect((mine.at(-2) as Answer).usage).toEqual((theirs.at(-2) as Answer).usage);
      return;
    }
    const [mine, theirs] = [json(actual), json(expected)];
    expect(shapeOf(mine)).toEqual(shapeOf(theirs));
    if (name !== 'd_ref_no_pd') expect(mine.usage).toEqual(theirs.usage);
  });

  it('released what was read, keeps what nobody read, and counts reads of what was gone', () => {
    expect(prefill.handOffs()).toEqual({ held: 8, offered: 11, taken: 3, expired: 0, leakedBlocks: 0, lateReads: 2 });
    expect(prefill.stats().retainedBlocks).toBeGreaterThan(0);
    expect(decode.stats()).toMatchObject({ running: 0, usedBlocks: 0 });
  });

  it.each(['prefill', 'decode'] as const)('metrics of %s are recorded families with their labels and buckets', async (role) => {
    const recorded = parseFamilies(readFileSync(join(METRICS, `${role[0]}_metrics_after.resp.http`), 'utf8'));
    const engine = role === 'prefill' ? prefill : decode;
    const mine = parseFamilies((await sendRaw(engine.port, get('/metrics'))).body.toString());
    for (const [name, family] of mine) {
      if (name.startsWith('http_') || name === 'vllm:cache_config_info') continue;
      const wanted = recorded.get(name);
      expect([name, wanted?.type, labelNames(wanted!)]).toEqual([name, family.type, labelNames(family)]);
      if (family.type === 'histogram') expect([...family.series.keys()].sort()).toEqual([...wanted!.series.keys()].sort());
    }
    if (role === 'decode') {
      expect(seriesValue(mine, 'vllm:prompt_tokens_by_source_total', 'external_kv_transfer')).toBeGreaterThan(164);
      expect(seriesValue(mine, 'vllm:nixl_xfer_time_seconds', '_count')).toBe(5);
    } else {
      expect(seriesValue(mine, 'vllm:nixl_num_notifications_after_expiry_total')).toBe(2);
    }
  });
});

/** What is of one process. */
const OWN = { remote_engine_id: '', remote_request_id: '', remote_port: 0, remote_block_ids: [] };
const pattern = (id: string): string => id.replace(/[0-9a-f]{16}/, 'x').replace(/[0-9a-f]{8}$/, 'y');
const blockCount = (params: Params): number => (params.remote_block_ids as readonly (readonly number[])[])[0]!.length;

describe('decode that NIXL leaves without KV', () => {
  const withParams = async (
    change: Readonly<Record<string, unknown>>,
  ): Promise<{ answer: RawAnswer; decode: RunningEngine; seconds: number }> => {
    const [prefill, clock] = [await start(), wallClock(SPEED)];
    const decode = await startSimulated(
      { maxModelLen: 512, kvTransfer: NIXL },
      { numBlocks: 64, tokenizer: TOKENIZER, clock, kvPort: 0, kvLinkGBps: Number.POSITIVE_INFINITY },
    );
    const params = json(await sendRaw(prefill.port, recording(FOLDER, 'p_14_prefill').request)).kv_transfer_params;
    const from = clock.monotonic();
    const answer = await sendRaw(decode.port, decodeRequest('d_19_unreachable_prefill', { ...params, ...change }));
    prefill.kill();
    return { answer, decode, seconds: (clock.monotonic() - from) / 1000 };
  };

  it.each([
    ['d_19_unreachable_prefill', { remote_port: 1 }],
    ['d_20_engine_id_mismatch', { remote_engine_id: '11111111-1111-4111-8111-111111111111' }],
  ])('gives up after five seconds: %s', async (name, change) => {
    const { answer, decode, seconds } = await withParams(change);
    const expected = recording(FOLDER, name).answer;
    expect(answer.status).toBe(500);
    expect(answer.body.toString()).toBe(expected.body.toString());
    expect(seconds).toBeGreaterThanOrEqual(5);
    const metrics = parseFamilies((await sendRaw(decode.port, get('/metrics'))).body.toString());
    expect(seriesValue(metrics, 'vllm:nixl_num_failed_transfers_total')).toBe(1);
    expect(seriesValue(metrics, 'vllm:prompt_tokens_total')).toBe(0);
    expect(decode.stats()).toMatchObject({ loadFailed: 1, usedBlocks: 0, waiting: 0 });
    decode.kill();
  });

  it('tells a stream in an error event', async () => {
    const decode = await start();
    const params = { ...(bodyOf('d_15_decode').kv_transfer_params as object), remote_port: 1 };
    const answer = await sendRaw(decode.port, post('/v1/completions', { prompt: 'x', stream: true, kv_transfer_params: params }));
    expect([answer.status, ...eventsOf(answer)]).toEqual([
      200,
      { error: { message: 'Internal server error', type: 'InternalServerError', param: null, code: 500 } },
      '[DONE]',
    ]);
    decode.kill();
  });

  it('computes the prompt itself where it is told to', async () => {
    const decode = await startSimulated(
      { kvTransfer: { ...NIXL, connector: 'nixl', onLoadFailure: 'recompute' } as typeof NIXL },
      { clock: wallClock(SPEED), kvPort: 0 },
    );
    const params = { ...(bodyOf('d_15_decode').kv_transfer_params as object), remote_port: 1 };
    const answer = await sendRaw(
      decode.port,
      post('/v1/completions', { prompt: 'a b c', max_tokens: 2, kv_transfer_params: params }),
    );
    expect(answer.status).toBe(200);
    expect(decode.stats()).toMatchObject({ finished: 1, loadFailed: 0, prefilledTokens: 3, arrivedTokens: 0, usedBlocks: 0 });
    decode.kill();
  });

  it('dies of parameters without blocks: d_18_missing_block_ids', async () => {
    const decode = await start();
    const { request, answer: expected } = recording(FOLDER, 'd_18_missing_block_ids');
    const answer = await sendRaw(decode.port, request);
    expect([answer.status, answer.body.toString()]).toEqual([500, expected.body.toString()]);
    expect(await decode.exited).toEqual({ reason: 'the engine core died' });
  });

  it('hangs on parameters without a host, and dies when the client gives up: d_13_missing_remote_host', async () => {
    const decode = await start();
    const hanging = openRaw(decode.port, recording(FOLDER, 'd_13_missing_remote_host').request.toString('utf8'));
    const other = await sendRaw(decode.port, post('/v1/completions', { prompt: 'x', max_tokens: 1 }));
    expect([other.status, hanging.answer.status]).toEqual([200, 0]);
    hanging.leave();
    expect(await decode.exited).toEqual({ reason: 'the engine core died' });
  });

  it('takes no notice of parameters when it has no connector', async () => {
    const engine = await startSimulated();
    const answer = await sendRaw(engine.port, recording(FOLDER, 'd_18_missing_block_ids').request);
    expect([answer.status, json(answer).kv_transfer_params]).toEqual([200, null]);
    engine.kill();
  });
});

describe('a lease', () => {
  it('ends what nobody reads: the blocks are free again and counted as leaked', async () => {
    const clock = wallClock(2000);
    const prefill = await startSimulated({ kvTransfer: NIXL }, { clock, kvPort: 0 });
    await sendRaw(
      prefill.port,
      post('/v1/completions', { prompt: 'a b c', max_tokens: 1, kv_transfer_params: { do_remote_decode: true } }),
    );
    expect(prefill.stats()).toMatchObject({ retainedBlocks: 1, usedBlocks: 1, running: 0 });
    while (prefill.handOffs().held > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(prefill.handOffs()).toMatchObject({ offered: 1, taken: 0, expired: 1, leakedBlocks: 1 });
    expect(prefill.stats()).toMatchObject({ retainedBlocks: 0, usedBlocks: 0 });
    prefill.kill();
  });

  it('does not begin for a request whose client left', async () => {
    const prefill = await startSimulated(
      { kvTransfer: NIXL },
      { kvPort: 0, stepTime: { baseMs: 40, perPrefillTokenMs: 0, perSequenceMs: 0, perKvTokenMs: 0 } },
    );
    const leaves = openRaw(
      prefill.port,
      post('/v1/completions', { prompt: 'a b c', max_tokens: 1, kv_transfer_params: { do_remote_decode: true } }),
    );
    while (prefill.stats().running === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    leaves.leave();
    await prefill.core.whenIdle();
    while (prefill.stats().usedBlocks > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(prefill.handOffs()).toMatchObject({ offered: 0, held: 0 });
    prefill.kill();
  });
});
