import { silentLogger } from '../../../../runtime/lib/logger';
import { seededRandom } from '../../../../runtime/lib/random';
import { type Decision, DecisionRing } from '../../../../runtime/router/observability/decision-ring';
import { Decisions } from '../../../../runtime/router/observability/decisions';
import { chatBody, routerConfig, send, startTestRouter, TestEngine, until } from '../../../helpers/router-harness';

const decision = (requestId: string): Decision => ({
  at: '2026-01-01T00:00:00.000Z',
  requestId,
  model: 'm',
  modelRoute: 'default/route',
  attempt: 1,
  queuedMs: undefined,
  endpoint: 'default/pod-0#u',
  promptTokens: 3,
  predictedCachedTokens: 0,
  expectedTtftMs: 1,
  explanation: { profile: 'expected-latency', candidates: [], removed: {} },
});
const RESULT = { outcome: 'completed', ttftMs: 5, promptTokens: 3, cachedTokens: 0 } as const;

function made(ringSize: number, sampleRatio: number | undefined) {
  const ring = new DecisionRing(ringSize);
  const lines: string[] = [];
  const log =
    sampleRatio === undefined ? undefined : { sampleRatio, write: (line: string) => lines.push(line), close: () => undefined };
  return { ring, lines, decisions: new Decisions(ring, seededRandom(1), () => log) };
}

describe('Decisions', () => {
  it('that nobody keeps are not even explained', () => {
    const { decisions } = made(0, undefined);
    const explain = (): never => {
      throw new Error('explained');
    };
    expect(decisions.made(0, explain)).toBeUndefined();
  });

  it('are logged by their share, each with its result, once its attempt is over', () => {
    const { decisions, lines } = made(0, 0.25);
    for (let i = 0; i < 1_000; i++) decisions.made(i, () => decision(`${i}`))?.end(RESULT);
    expect(lines.length).toBeGreaterThan(200);
    expect(lines.length).toBeLessThan(300);
    expect(JSON.parse(lines[0]!)).toMatchObject({ endpoint: 'default/pod-0#u', result: RESULT });
    decisions.made(0, () => decision('open'));
    expect(lines.join()).not.toContain('open');
  });

  it('are kept for the debug port, the newest where the ring is made smaller', () => {
    const { ring, decisions } = made(3, undefined);
    for (let i = 0; i < 5; i++) decisions.made(100 * i, () => decision(`${i}`));
    expect(ring.list().map(({ requestId }) => requestId)).toEqual(['4', '3', '2']);
    ring.resize(2);
    expect(ring.list().map(({ requestId }) => requestId)).toEqual(['4', '3']);
    decisions.made(1_000, () => decision('5'));
    expect(ring.list().map(({ requestId }) => requestId)).toEqual(['5', '4']);
    ring.resize(4);
    decisions.made(2_000, () => decision('6'));
    expect(ring.list().map(({ requestId }) => requestId)).toEqual(['6', '5', '4']);
  });
});

describe('The decision log', () => {
  it('has the terms of every candidate and no word of the prompt', async () => {
    const engine = await new TestEngine((_, response) => {
      const usage = { prompt_tokens: 7, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 6 } };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ usage }));
    }).start();
    const lines: string[] = [];
    const { router, url } = await startTestRouter({
      engines: [engine, engine],
      config: routerConfig({ decisionLog: { output: 'stdout', sampleRatio: 1 }, explain: { ringSize: 0 } }),
      logs: { log: silentLogger(), decisionLogDestination: { write: (line: string) => lines.push(line) } },
    });
    try {
      await send(url, '/v1/chat/completions', chatBody({ messages: [{ role: 'user', content: 'a secret of mine' }] }));
      await until(() => lines.length === 1, 'the line');
      const line = JSON.parse(lines[0]!) as Decision;
      expect(line).toMatchObject({ model: 'm', attempt: 1, result: { outcome: 'completed', promptTokens: 7, cachedTokens: 6 } });
      expect(line.explanation.candidates.map(({ terms }) => Object.keys(terms).length > 0)).toEqual([true, true]);
      expect(lines[0]).not.toContain('secret');
    } finally {
      await router.close();
      await engine.kill();
    }
  });
});
