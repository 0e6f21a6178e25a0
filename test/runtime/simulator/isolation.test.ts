import { sglangRole } from '../../helpers/kv-plans';
import { get, openRaw, post, sendRaw } from '../../helpers/raw-http';
import { startSimulated } from '../../helpers/simulated-engine';

const PROMPT = 'A prompt that is long enough to fill more than one block of the cache, and is the same for everybody who asks.';

const SERVERS = [
  ['vLLM', {}, 'cache_salt'],
  ['SGLang', { engine: 'sglang', version: '0.5.23', blockSize: 16 }, 'cache_salt'],
  ['SGLang', { engine: 'sglang', version: '0.5.23', blockSize: 16 }, 'extra_key'],
] as const;

describe.each(SERVERS)('the prefix cache of %s', (_name, plan, salt) => {
  it(`is shared without ${salt}, and counts what one tenant found of another's`, async () => {
    const engine = await startSimulated(plan);
    for (const user of ['ann', 'ann', 'bob', undefined])
      await sendRaw(engine.port, post('/v1/completions', { prompt: PROMPT, max_tokens: 1, user }));
    const stats = engine.stats();
    // Three of four found it; only for bob it was somebody else's.
    expect(stats.cachedTokens).toBe(3 * stats.crossTenantTokens);
    expect(stats.crossTenantTokens).toBeGreaterThanOrEqual(16);
    engine.kill();
  });

  it(`is each tenant's own with ${salt}`, async () => {
    const engine = await startSimulated(plan);
    for (const user of ['ann', 'bob', 'ann'])
      await sendRaw(engine.port, post('/v1/completions', { prompt: PROMPT, max_tokens: 1, user, [salt]: user }));
    expect(engine.stats().crossTenantTokens).toBe(0);
    expect(engine.stats().cachedTokens).toBeGreaterThanOrEqual(16);
    engine.kill();
  });
});

describe('a client that leaves', () => {
  it.each([{}, { engine: 'sglang', version: '0.5.23' }] as const)(
    'stops the work, and what was done for it is counted: %o',
    async (plan) => {
      const engine = await startSimulated(plan, {
        stepTime: { baseMs: 30, perPrefillTokenMs: 0, perSequenceMs: 0, perKvTokenMs: 0 },
      });
      const leaves = openRaw(
        engine.port,
        post('/v1/completions', { prompt: 'a b', max_tokens: 500, ignore_eos: true, stream: true }),
      );
      await leaves.until(({ chunks }) => chunks.length >= 2);
      leaves.leave();
      while (engine.stats().running > 0) await new Promise((resolve) => setTimeout(resolve, 2));
      const { wastedTokens, abandonedTokens, generatedTokens } = engine.stats();
      expect(abandonedTokens).toBe(generatedTokens);
      expect([abandonedTokens > 0, wastedTokens <= 1]).toEqual([true, true]);
      engine.kill();
    },
  );
});

describe('POST /abort_request of SGLang', () => {
  const start = () =>
    startSimulated(
      { engine: 'sglang', version: '0.5.23' },
      { stepTime: { baseMs: 5, perPrefillTokenMs: 0, perSequenceMs: 0, perKvTokenMs: 0 } },
    );
  const long = { max_tokens: 500, ignore_eos: true, stream: true, rid: 'r-1' };

  it('ends the stream of the named request with the reason abort, and no other', async () => {
    const engine = await start();
    const [named, other] = ['r-1', 'r-2'].map((rid) =>
      openRaw(engine.port, post('/v1/completions', { ...long, prompt: 'a', rid })),
    );
    await Promise.all([named!, other!].map((open) => open.until(({ chunks }) => chunks.length >= 2)));
    expect((await sendRaw(engine.port, post('/abort_request', { rid: 'r-1' }))).status).toBe(200);
    const answer = await named!.until(({ isComplete }) => isComplete);
    expect(answer.chunks.at(-2)).toContain('"finish_reason":"abort"');
    expect(engine.stats()).toMatchObject({ aborted: 1 });
    expect(other!.answer.isComplete).toBe(false);
    await sendRaw(engine.port, post('/abort_request', { abort_all: true }));
    expect((await other!.until(({ isComplete }) => isComplete)).isComplete).toBe(true);
    engine.kill();
  });

  it('answers the native API with what there is', async () => {
    const engine = await start();
    const open = openRaw(
      engine.port,
      post('/generate', { text: 'a', rid: 'n', sampling_params: { max_new_tokens: 500, ignore_eos: true } }),
    );
    while (engine.stats().generatedTokens < 3) await new Promise((resolve) => setTimeout(resolve, 2));
    await sendRaw(engine.port, post('/abort_request', { rid: 'n' }));
    const { meta_info: info, output_ids: ids } = JSON.parse((await open.until(({ isComplete }) => isComplete)).body.toString());
    expect(info.finish_reason).toEqual({ type: 'abort', message: 'Aborted', status_code: null, err_type: null });
    expect([info.completion_tokens, ids.length >= 3]).toEqual([ids.length, true]);
    engine.kill();
  });

  it('ends a leg that waits for its peer', async () => {
    const prefill = await startSimulated(sglangRole('prefill'), { kvPort: 0 });
    const waits = openRaw(prefill.port, post('/generate', { text: 'a', rid: 'p', bootstrap_room: 1 }));
    const queued = async (): Promise<boolean> =>
      (await sendRaw(prefill.port, get('/metrics'))).body
        .toString()
        .includes(
          'num_prefill_bootstrap_queue_reqs{engine_type="prefill",model_name="tiny",moe_ep_rank="0",pp_rank="0",tp_rank="0"} 1.0',
        );
    while (!(await queued())) await new Promise((resolve) => setTimeout(resolve, 2));
    await sendRaw(prefill.port, post('/abort_request', { rid: 'p' }));
    expect((await waits.until(({ isComplete }) => isComplete)).status).toBe(200);
    prefill.kill();
  });
});
