import type { RunningEngine } from '../../../../runtime/simulator/index';
import { parseFamilies, seriesValue } from '../../../helpers/prometheus-text';
import { get, openRaw, post, sendRaw } from '../../../helpers/raw-http';
import { startSimulated } from '../../../helpers/simulated-engine';

const SLOW = { baseMs: 5, perPrefillTokenMs: 0, perSequenceMs: 0, perKvTokenMs: 0 };

async function metricsOf(engine: RunningEngine): Promise<ReturnType<typeof parseFamilies>> {
  return parseFamilies((await sendRaw(engine.port, get('/metrics'))).body.toString());
}

describe('a client that leaves', () => {
  it.each([
    ['with a stream', true],
    ['without a stream', false],
  ])('%s: frees its slot, and is in no counter of finished requests', async (_name, stream) => {
    const engine = await startSimulated({}, { stepTime: SLOW });
    const client = openRaw(
      engine.port,
      post('/v1/completions', { prompt: 'abort me', max_tokens: 900, ignore_eos: true, stream }),
    );
    while ((await metricsOf(engine)).get('vllm:num_requests_running')!.series.values().next().value !== 1);
    if (stream) await client.until(({ chunks }) => chunks.length >= 2);
    client.leave();
    await engine.core.whenIdle();

    const stats = engine.stats();
    expect(stats).toMatchObject({ aborted: 1, finished: 0 });
    expect(stats.generatedTokens).toBeLessThan(900);
    expect(stats.wastedTokens).toBeLessThanOrEqual(8);
    while (engine.stats().running > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    const metrics = await metricsOf(engine);
    expect(seriesValue(metrics, 'vllm:num_requests_running')).toBe(0);
    expect(seriesValue(metrics, 'vllm:kv_cache_usage_perc')).toBe(0);
    expect(seriesValue(metrics, 'vllm:request_success_total', 'abort')).toBe(0);
    expect(seriesValue(metrics, 'vllm:request_success_total', 'length')).toBe(0);
    expect(seriesValue(metrics, 'vllm:generation_tokens_total')).toBe(engine.stats().generatedTokens);
    engine.kill();
  });

  it('ends all choices of its request', async () => {
    const engine = await startSimulated({}, { stepTime: SLOW });
    const client = openRaw(
      engine.port,
      post('/v1/completions', { prompt: ['a', 'b', 'c'], n: 2, max_tokens: 900, ignore_eos: true, stream: true }),
    );
    await client.until(({ chunks }) => chunks.length >= 4);
    expect(engine.stats().running + engine.stats().waiting).toBe(6);
    client.leave();
    await engine.core.whenIdle();
    expect(engine.stats()).toMatchObject({ aborted: 6 });
    engine.kill();
  });

  it('leaves the requests of others alone', async () => {
    const engine = await startSimulated({}, { stepTime: SLOW });
    const stays = sendRaw(engine.port, post('/v1/completions', { prompt: 'stay', max_tokens: 30, ignore_eos: true }));
    const leaves = openRaw(
      engine.port,
      post('/v1/completions', { prompt: 'go', max_tokens: 900, ignore_eos: true, stream: true }),
    );
    await leaves.until(({ chunks }) => chunks.length >= 1);
    leaves.leave();
    const { usage } = JSON.parse((await stays).body.toString());
    expect(usage.completion_tokens).toBe(30);
    await engine.core.whenIdle();
    engine.kill();
  });
});
