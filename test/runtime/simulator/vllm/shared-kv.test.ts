import { huggingFaceTokenizer } from '../../../../runtime/simulator/huggingface-tokenizer';
import { type RunningEngine, SocketFabric, wallClock } from '../../../../runtime/simulator/index';
import type { KvTransferPlan } from '../../../../src/expand/kv-transfer-plan';
import { mooncake } from '../../../helpers/kv-plans';
import { parseFamilies, seriesValue } from '../../../helpers/prometheus-text';
import { get, post, sendRaw } from '../../../helpers/raw-http';
import { MODEL_FOLDER, recording, shapeOf } from '../../../helpers/recordings';
import { startSimulated } from '../../../helpers/simulated-engine';

const start = (kvTransfer: KvTransferPlan, fabric = new SocketFabric(), speed = 1): Promise<RunningEngine> =>
  startSimulated(
    { reportsCachedTokens: true, kvTransfer },
    {
      numBlocks: 48,
      tokenizer: huggingFaceTokenizer(MODEL_FOLDER),
      clock: wallClock(speed),
      fabric,
      kvPort: 0,
      kvLinkGBps: Number.POSITIVE_INFINITY,
    },
  );

const ask = async (engine: RunningEngine, body: object): Promise<{ status: number; body: Record<string, unknown> }> => {
  const answer = await sendRaw(engine.port, post('/v1/completions', { temperature: 0, ...body }));
  return { status: answer.status, body: JSON.parse(answer.body.toString()) };
};

const PROMPT = 'To be handed over from one engine to the next, this has to be a prompt of more than one block of KV.';

describe('the ExampleConnector of vLLM', () => {
  const FOLDER = 'vllm-0.32.0/kv-transfer/example-connector';
  const STORE: KvTransferPlan = { connector: 'store', store: '/kv' };

  it('answers as recorded, and finds in the shared folder what its own cache has lost', async () => {
    const engine = await start(STORE);
    for (const name of ['prefill_do_remote_decode', 'no_params', 'reset', 'after_reset_external_hit']) {
      if (name === 'reset') {
        await sendRaw(engine.port, post('/reset_prefix_cache', {}));
        continue;
      }
      const { request, answer } = recording(FOLDER, name);
      const actual = await sendRaw(engine.port, request);
      const [mine, theirs] = [JSON.parse(actual.body.toString()), JSON.parse(answer.body.toString())];
      expect(shapeOf(mine)).toEqual(shapeOf(theirs));
      expect([name, mine.usage, mine.kv_transfer_params]).toEqual([name, theirs.usage, null]);
    }
    const metrics = parseFamilies((await sendRaw(engine.port, get('/metrics'))).body.toString());
    expect(seriesValue(metrics, 'vllm:external_prefix_cache_hits_total')).toBe(160);
    engine.kill();
  });

  it('shares what prefill wrote with decode of the same store, and with nobody else, salted prompts included', async () => {
    const fabric = new SocketFabric();
    const [prefill, decode] = await Promise.all([start(STORE, fabric), start(STORE, fabric)]);
    const stranger = await start({ connector: 'store', store: '/other' }, fabric);
    await ask(prefill, { prompt: PROMPT, max_tokens: 1 });
    const cachedOf = async (engine: RunningEngine, extra: object): Promise<number> => {
      const { usage } = (await ask(engine, { prompt: PROMPT, max_tokens: 2, ...extra })).body;
      return (usage as { prompt_tokens_details: { cached_tokens: number } }).prompt_tokens_details.cached_tokens;
    };
    expect(await cachedOf(stranger, {})).toBe(0);
    expect(await cachedOf(decode, { cache_salt: 'a' })).toBe(0);
    expect(await cachedOf(decode, {})).toBeGreaterThanOrEqual(16);
    expect(decode.stats().arrivedTokens).toBeGreaterThanOrEqual(16);
    for (const engine of [prefill, decode, stranger]) engine.kill();
  });

  it('keeps LMCache to whole chunks', async () => {
    const fabric = new SocketFabric();
    const chunks: KvTransferPlan = { connector: 'store', store: 'redis://kv', chunkTokens: 256 };
    const [prefill, decode] = await Promise.all([start(chunks, fabric), start(chunks, fabric)]);
    await ask(prefill, { prompt: PROMPT, max_tokens: 1 });
    await ask(decode, { prompt: PROMPT, max_tokens: 1 });
    expect(decode.stats().arrivedTokens).toBe(0);
    const ids = Array.from({ length: 300 }, (_, i) => 300 + i);
    await ask(prefill, { prompt: ids, max_tokens: 1 });
    await ask(decode, { prompt: ids, max_tokens: 1 });
    expect(decode.stats().arrivedTokens).toBe(256);
    prefill.kill();
    decode.kill();
  });
});

describe('the MooncakeConnector of vLLM', () => {
  const engineOf = async (prefill: RunningEngine): Promise<string> => {
    const answer = await sendRaw(prefill.kvAddress!.port, get('/query'));
    return JSON.parse(answer.body.toString())['0'].engine_id;
  };
  const legs = (prefill: RunningEngine, engineId: string, id: string): [object, object] => [
    { prompt: PROMPT, max_tokens: 1, kv_transfer_params: { do_remote_decode: true, do_remote_prefill: false, transfer_id: id } },
    {
      prompt: PROMPT,
      max_tokens: 4,
      kv_transfer_params: {
        do_remote_prefill: true,
        do_remote_decode: false,
        remote_engine_id: engineId,
        remote_bootstrap_addr: `http://127.0.0.1:${prefill.kvAddress!.port}`,
        transfer_id: id,
      },
    },
  ];

  it('hands over by transfer id, legs in either order, and answers without parameters', async () => {
    const [prefill, decode] = await Promise.all([start(mooncake(true)), start(mooncake(false))]);
    const engineId = await engineOf(prefill);
    const [first, second] = legs(prefill, engineId, 'a');
    const one = await ask(prefill, first);
    const two = await ask(decode, second);
    expect([one.body.kv_transfer_params, two.body.kv_transfer_params]).toEqual([null, null]);
    const [later, sooner] = legs(prefill, engineId, 'b');
    const waits = ask(decode, sooner);
    const p = await ask(prefill, later);
    expect([p.status, (await waits).status]).toEqual([200, 200]);
    expect(prefill.handOffs()).toEqual({ held: 0, offered: 2, taken: 2, expired: 0, leakedBlocks: 0, lateReads: 0 });
    expect(decode.stats().arrivedTokens).toBeGreaterThan(16);
    for (const engine of [prefill, decode]) {
      expect(engine.stats()).toMatchObject({ usedBlocks: 0, waiting: 0 });
      engine.kill();
    }
  });

  it('hands nothing over without a transfer id', async () => {
    const prefill = await start(mooncake(true));
    const answer = await ask(prefill, { prompt: PROMPT, max_tokens: 1, kv_transfer_params: { do_remote_decode: true } });
    expect([answer.status, answer.body.kv_transfer_params]).toEqual([200, null]);
    expect(prefill.handOffs().offered).toBe(0);
    prefill.kill();
  });

  it.each([
    ['nobody listens there', () => ['x', 1] as const],
    ['the engine was started anew', (port: number) => ['0'.repeat(32), port] as const],
  ])('fails when %s', async (_name, where) => {
    const [prefill, decode] = await Promise.all([start(mooncake(true)), start(mooncake(false))]);
    const [engineId, port] = where(prefill.kvAddress!.port);
    const answer = await ask(decode, {
      prompt: PROMPT,
      kv_transfer_params: {
        do_remote_prefill: true,
        remote_engine_id: engineId,
        remote_bootstrap_addr: `http://127.0.0.1:${port}`,
        transfer_id: 'a',
      },
    });
    expect(answer.status).toBe(500);
    expect(decode.stats()).toMatchObject({ loadFailed: 1, usedBlocks: 0 });
    prefill.kill();
    decode.kill();
  });

  it('frees what nobody fetches when the time for it is over', async () => {
    const prefill = await start(mooncake(true), new SocketFabric(), 20_000);
    await ask(prefill, legs(prefill, '', 'a')[0]);
    while (prefill.handOffs().held > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(prefill.handOffs()).toMatchObject({ offered: 1, taken: 0, expired: 1 });
    expect(prefill.stats().usedBlocks).toBe(0);
    prefill.kill();
  });
});
