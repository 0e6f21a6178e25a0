import * as fc from 'fast-check';
import type { RunningEngine } from '../../../../runtime/simulator/index';
import { post, sendRaw } from '../../../helpers/raw-http';
import { startSimulated } from '../../../helpers/simulated-engine';

/** Values that clients send by mistake, beside good ones. */
const odd = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown> },
  fc.constantFrom(undefined, null, '', 0, -1, 1, 3, 1.5, '7', true, [], {}, ['a'], [1, 2], [[1], [2]]),
);
const body = fc.record(
  {
    model: fc.constantFrom('tiny', 'lora-a', undefined, 7),
    messages: fc.oneof(
      odd,
      fc.array(fc.record({ role: odd, content: odd, tool_calls: odd }, { requiredKeys: [] }), { maxLength: 3 }),
    ),
    prompt: odd,
    max_tokens: fc.oneof(fc.integer({ min: 0, max: 20 }), odd),
    n: fc.oneof(fc.integer({ min: 1, max: 3 }), odd),
    temperature: odd,
    top_p: odd,
    stop: odd,
    stop_token_ids: odd,
    stream: odd,
    stream_options: odd,
    tools: odd,
    tool_choice: odd,
    response_format: odd,
    logprobs: odd,
    top_logprobs: odd,
    prompt_logprobs: odd,
    logit_bias: odd,
    min_tokens: odd,
    seed: odd,
    cache_salt: odd,
    echo: odd,
  },
  { requiredKeys: [] },
);

describe.each([['vllm'], ['sglang']] as const)('any body to %s', (engineName) => {
  let engine: RunningEngine;
  beforeAll(async () => {
    engine = await startSimulated({ engine: engineName, adapters: { 'lora-a': '/a' }, maxLoras: 1, maxModelLen: 200 });
  });
  afterAll(() => engine.kill());

  it.each(['/v1/chat/completions', '/v1/completions'])(
    'at %s gets an answer or a client error, and the engine comes to rest',
    async (path) => {
      await fc.assert(
        fc.asyncProperty(body, async (value) => {
          const { status, isComplete, body: text } = await sendRaw(engine.port, post(path, value));
          expect([isComplete, status, status === 200 || text.toString().includes('message')]).toEqual([true, status, true]);
          expect([200, 400, 404]).toContain(status);
          await engine.core.whenIdle();
          expect(engine.stats()).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0 });
        }),
        { numRuns: 120 },
      );
    },
  );
});
