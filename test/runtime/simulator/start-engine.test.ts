import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { wallClock } from '../../../runtime/lib/wall-clock';
import { KvasirError } from '../../../src/errors';
import { parseFamilies, seriesValue } from '../../helpers/prometheus-text';
import { get, openRaw, parseAnswer, post, sendRaw } from '../../helpers/raw-http';
import { startSimulated } from '../../helpers/simulated-engine';

const LIFECYCLE = join(__dirname, '../../fixtures/engines/vllm-0.32.0/lifecycle');
const SLOW = { baseMs: 4, perPrefillTokenMs: 0, perSequenceMs: 0, perKvTokenMs: 0 };
const LONG = { prompt: 'tell me', max_tokens: 900, ignore_eos: true, stream: true };

function recordedError(name: string): unknown {
  return JSON.parse(parseAnswer(readFileSync(join(LIFECYCLE, name))).body.toString());
}

describe('an answer', () => {
  it('says that it is simulated and names the model that was asked for', async () => {
    const engine = await startSimulated({
      servedModelNames: ['deepseek-r1', 'alias'],
      adapters: { 'lora-A': '/a' },
      maxLoras: 1,
    });
    for (const model of ['deepseek-r1', 'alias', 'lora-A']) {
      const { body } = await sendRaw(
        engine.port,
        post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 30 }),
      );
      const answer = JSON.parse(body.toString());
      expect(answer.model).toBe(model);
      expect(answer.choices[0].message.content).toMatch(/^Simulated answer/);
    }
    engine.kill();
  });

  it('ends where a seeded draw says, and exactly at max_tokens with ignore_eos', async () => {
    const engine = await startSimulated({ maxModelLen: 2000 }, { numBlocks: 200 });
    const ask = async (
      extra: object,
    ): Promise<{ usage: { completion_tokens: number }; choices: { finish_reason: string; text: string }[] }> =>
      JSON.parse(
        (await sendRaw(engine.port, post('/v1/completions', { prompt: 'x', max_tokens: 1900, ...extra }))).body.toString(),
      );
    const [first, again, other] = [await ask({ seed: 4 }), await ask({ seed: 4 }), await ask({ seed: 5 })];
    expect(first.choices).toEqual(again.choices);
    expect(first.choices).not.toEqual(other.choices);
    expect(first.choices[0]!.finish_reason).toBe('stop');
    expect(first.usage.completion_tokens).toBeLessThan(1900);
    const whole = await ask({ ignore_eos: true });
    expect([whole.usage.completion_tokens, whole.choices[0]!.finish_reason]).toEqual([1900, 'length']);
    engine.kill();
  });

  it('of one turn is found in the cache by the next turn', async () => {
    const engine = await startSimulated({ reportsCachedTokens: true });
    const ask = async (
      messages: object[],
    ): Promise<{ usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } }; text: string }> => {
      const { body } = await sendRaw(
        engine.port,
        post('/v1/chat/completions', { messages, max_tokens: 200, ignore_eos: true, temperature: 0 }),
      );
      const answer = JSON.parse(body.toString());
      return { usage: answer.usage, text: answer.choices[0].message.content };
    };
    const question = { role: 'user', content: 'How does a prefix cache work, and when does it not?' };
    const first = await ask([question]);
    const second = await ask([question, { role: 'assistant', content: first.text }, { role: 'user', content: 'And then?' }]);
    expect(first.usage.prompt_tokens_details.cached_tokens).toBe(0);
    expect(second.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(first.usage.prompt_tokens + 150);
    engine.kill();
  });

  it('of another adapter or salt shares no cache', async () => {
    const engine = await startSimulated({ reportsCachedTokens: true, adapters: { a: '/a' }, maxLoras: 1 });
    const cached = async (extra: object): Promise<number> => {
      const { body } = await sendRaw(
        engine.port,
        post('/v1/completions', { prompt: 'word '.repeat(100), max_tokens: 1, ...extra }),
      );
      return JSON.parse(body.toString()).usage.prompt_tokens_details.cached_tokens;
    };
    expect(await cached({})).toBe(0);
    expect(await cached({})).toBeGreaterThan(0);
    expect(await cached({ model: 'a' })).toBe(0);
    expect(await cached({ cache_salt: 's' })).toBe(0);
    expect(await cached({ cache_salt: 's' })).toBeGreaterThan(0);
    engine.kill();
  });
});

describe('a port', () => {
  it('that is in use is refused in one line', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const error = await startSimulated({}, { port }).catch((e: unknown) => e);
    await new Promise((resolve) => taken.close(resolve));
    expect(error).toBeInstanceOf(KvasirError);
    expect((error as KvasirError).code).toBe('listen/address-in-use');
    expect((error as KvasirError).message).toBe(
      `simulated engine: another process listens on 127.0.0.1:${port}; stop it, or give another host:port [listen/address-in-use]`,
    );
  });
});

describe('stop without a shutdown timeout', () => {
  it('stalls running streams, answers 500, then closes the socket, and cuts what is left when the grace is over', async () => {
    const engine = await startSimulated({}, { stepTime: SLOW });
    const stream = openRaw(engine.port, post('/v1/completions', LONG));
    await stream.until(({ chunks }) => chunks.length >= 2);
    const stopped = engine.stop(400);
    const refused = await sendRaw(engine.port, post('/v1/completions', LONG));
    expect([refused.status, JSON.parse(refused.body.toString())]).toEqual([
      500,
      recordedError('sigterm_completions_500.resp.http'),
    ]);
    const { length } = stream.answer.chunks;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect([stream.answer.chunks.length, stream.hasEnded]).toEqual([length, false]);
    await expect(sendRaw(engine.port, get('/health'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await stopped;
    expect((await stream.until(() => false)).isComplete).toBe(false);
    expect(engine.stats()).toMatchObject({ running: 0, usedBlocks: 0, killed: 1 });
  });

  it('is over as soon as no connection is open', async () => {
    const engine = await startSimulated();
    const start = performance.now();
    await engine.stop(30_000);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});

describe('stop with a shutdown timeout', () => {
  it('lets running streams finish and answers 500 to new requests while health stays good', async () => {
    const engine = await startSimulated({ shutdownTimeoutSeconds: 30 }, { stepTime: SLOW });
    const stream = openRaw(engine.port, post('/v1/completions', { ...LONG, max_tokens: 60 }));
    await stream.until(({ chunks }) => chunks.length >= 2);
    const stopped = engine.stop(60_000);
    expect((await sendRaw(engine.port, get('/health'))).status).toBe(200);
    const refused = await sendRaw(engine.port, post('/v1/completions', LONG));
    expect([refused.status, JSON.parse(refused.body.toString())]).toEqual([
      500,
      recordedError('sigterm_timeout30_completions_500.resp.http'),
    ]);
    const whole = await stream.until(({ isComplete }) => isComplete);
    expect(whole.chunks).toHaveLength(61);
    expect(whole.chunks.at(-1)).toBe('data: [DONE]\n\n');
    await stopped;
    await expect(sendRaw(engine.port, get('/health'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('cuts what still runs after the timeout', async () => {
    const engine = await startSimulated({ shutdownTimeoutSeconds: 1 }, { stepTime: SLOW, clock: wallClock(10) });
    const stream = openRaw(engine.port, post('/v1/completions', LONG));
    await stream.until(({ chunks }) => chunks.length >= 1);
    await engine.stop(60_000);
    expect((await stream.until(() => false)).isComplete).toBe(false);
    expect(engine.stats()).toMatchObject({ running: 0, usedBlocks: 0 });
  });
});

describe('faults', () => {
  it('kill: ends streams with the recorded error event, then the server', async () => {
    const engine = await startSimulated({}, { stepTime: SLOW });
    const recorded = parseAnswer(readFileSync(join(LIFECYCLE, 'enginekill_stream.partial.resp.http'))).chunks.slice(-2);
    const stream = openRaw(engine.port, post('/v1/completions', LONG));
    const whole = openRaw(engine.port, post('/v1/completions', { ...LONG, stream: false }));
    await stream.until(({ chunks }) => chunks.length >= 2);
    engine.faults.kill();
    expect((await stream.until(({ isComplete }) => isComplete)).chunks.slice(-2)).toEqual(recorded);
    const refused = await sendRaw(engine.port, post('/v1/completions', LONG));
    const expected = recordedError('enginekill_completions_500.resp.http');
    expect([refused.status, JSON.parse(refused.body.toString())]).toEqual([500, expected]);
    expect(JSON.parse((await whole.until(({ isComplete }) => isComplete)).body.toString())).toEqual(expected);
    expect(await engine.exited).toEqual({ reason: 'the engine core died' });
    await expect(sendRaw(engine.port, get('/health'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('hang: sends nothing more while health is good, until it is cleared', async () => {
    const engine = await startSimulated({}, { stepTime: SLOW });
    const stream = openRaw(engine.port, post('/v1/completions', { ...LONG, max_tokens: 50 }));
    await stream.until(({ chunks }) => chunks.length >= 2);
    engine.faults.hang();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { length } = stream.answer.chunks;
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(stream.answer.chunks).toHaveLength(length);
    expect((await sendRaw(engine.port, get('/health'))).status).toBe(200);
    await engine.faults.clear();
    expect((await stream.until(({ isComplete }) => isComplete)).chunks).toHaveLength(51);
    engine.kill();
  });

  it('slow: makes steps longer', async () => {
    const engine = await startSimulated({}, { stepTime: SLOW });
    engine.faults.slow(10);
    const start = performance.now();
    await sendRaw(engine.port, post('/v1/completions', { prompt: 'x', max_tokens: 3, ignore_eos: true }));
    expect(performance.now() - start).toBeGreaterThan(110);
    engine.kill();
  });

  it('refuse: refuses new connections, keeps open streams, and takes connections again when cleared', async () => {
    const engine = await startSimulated({}, { stepTime: SLOW });
    const stream = openRaw(engine.port, post('/v1/completions', { ...LONG, max_tokens: 40 }));
    await stream.until(({ chunks }) => chunks.length >= 1);
    engine.faults.refuse();
    await expect(sendRaw(engine.port, get('/health'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect((await stream.until(({ isComplete }) => isComplete)).isComplete).toBe(true);
    await engine.faults.clear();
    expect((await sendRaw(engine.port, get('/health'))).status).toBe(200);
    engine.kill();
  });

  it.each([0, 1, 5])('cutStreamAfter: cuts the connection after %d tokens and gives the slot back', async (tokens) => {
    const engine = await startSimulated({}, { stepTime: SLOW });
    engine.faults.cutStreamAfter(tokens);
    const stream = openRaw(engine.port, post('/v1/completions', LONG));
    const answer = await stream.until(() => false);
    expect([answer.chunks.length, answer.isComplete]).toEqual([tokens, false]);
    await engine.core.whenIdle();
    expect(engine.stats()).toMatchObject({ aborted: 1 });
    engine.kill();
  });

  it('staleMetrics: metrics stay as they were until it is cleared', async () => {
    const engine = await startSimulated();
    const generated = async (): Promise<number> =>
      seriesValue(parseFamilies((await sendRaw(engine.port, get('/metrics'))).body.toString()), 'vllm:generation_tokens_total');
    engine.faults.staleMetrics();
    await sendRaw(engine.port, post('/v1/completions', { prompt: 'x', max_tokens: 3, ignore_eos: true }));
    expect(await generated()).toBe(0);
    await engine.faults.clear();
    expect(await generated()).toBe(3);
    engine.kill();
  });
});

describe('kill', () => {
  it('cuts every connection at once and says why it ended', async () => {
    const engine = await startSimulated({}, { stepTime: SLOW });
    const stream = openRaw(engine.port, post('/v1/completions', LONG));
    await stream.until(({ chunks }) => chunks.length >= 1);
    engine.kill();
    expect((await stream.until(() => false)).isComplete).toBe(false);
    expect(await engine.exited).toEqual({ reason: 'killed' });
    expect(engine.stats()).toMatchObject({ running: 0, usedBlocks: 0, killed: 1 });
  });
});
