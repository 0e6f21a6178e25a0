import type { RouterConfig } from '../../../../src/config/router-config';
import { OtlpReceiver, type ReceivedSpan } from '../../../helpers/otlp-receiver';
import { parseFamilies, seriesValue } from '../../../helpers/prometheus-text';
import { chatBody, routerConfig, send, startTestRouter, TestEngine, type TestRouter } from '../../../helpers/router-harness';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const sampled = `00-${TRACE}-${PARENT}-01`;

let collector: OtlpReceiver;
let endpoint: string;
let engine: TestEngine;
let router: TestRouter | undefined;

beforeEach(async () => {
  collector = new OtlpReceiver();
  endpoint = await collector.start();
  let failures = 0;
  engine = await new TestEngine((request, response) => {
    if (request.body.includes('"fail once"') && failures++ === 0) {
      response.writeHead(503, { 'content-type': 'application/json' }).end('{}');
      return;
    }
    const usage = { prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ usage }));
  }).start();
});

afterEach(async () => {
  await router?.router.close();
  router = undefined;
  await engine.kill();
  collector.close();
});

async function start(tracing: Partial<RouterConfig['tracing']>): Promise<TestRouter> {
  router = await startTestRouter({ engines: [engine, engine], config: routerConfig({ tracing, retry: { intervalMs: 1 } }) });
  return router;
}

const ask = ({ url }: TestRouter, headers: Record<string, string> = {}, body = chatBody()) =>
  send(url, '/v1/chat/completions', body, headers);

/** Spans are sent when the router ends. */
async function received(): Promise<readonly ReceivedSpan[]> {
  await router!.router.close();
  router = undefined;
  return collector.spans;
}

describe('Traces', () => {
  it('without a collector pass on what the client sent, and make nothing', async () => {
    const running = await start({});
    await ask(running, { traceparent: sampled, tracestate: 'a=b' });
    expect(engine.received[0]!.headers).toMatchObject({ traceparent: sampled, tracestate: 'a=b' });
    await ask(running);
    expect(engine.received[1]!.headers.traceparent).toBeUndefined();
    expect(await received()).toEqual([]);
  });

  it('have a span for the request below the client’s, and below it one for each part', async () => {
    const running = await start({ endpoint, sampleRatio: 0, serviceName: 'my-router' });
    await ask(running, { traceparent: sampled, tracestate: 'a=b', 'x-request-id': 'id-1' });
    const spans = await received();
    const [attempt, schedule, read, server] = ['attempt', 'schedule', 'read', 'POST /v1/chat/completions'].map((name) =>
      spans.find((span) => span.name === name),
    ) as [ReceivedSpan, ReceivedSpan, ReceivedSpan, ReceivedSpan];
    expect(spans).toHaveLength(4);
    expect(collector.paths).toEqual(['/v1/traces']);
    expect(collector.resources[0]).toMatchObject({ 'service.name': 'my-router' });
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
    expect(server).toMatchObject({ parentSpanId: PARENT, kind: 2 });
    expect([attempt, schedule, read].map(({ parentSpanId }) => parentSpanId)).toEqual(Array(3).fill(server.spanId));
    expect(server.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'gen_ai.request.model': 'm',
      'gen_ai.usage.input_tokens': 3,
      'gen_ai.usage.output_tokens': 2,
      'kvasir.model_route': 'default/route',
      'kvasir.backend': 'default/server',
      'kvasir.request_id': 'id-1',
    });
    expect(attempt).toMatchObject({
      kind: 3,
      attributes: {
        'server.address': '127.0.0.1',
        'server.port': engine.port,
        'http.response.status_code': 200,
        'kvasir.outcome': 'completed',
        'kvasir.cached_tokens': 1,
        'kvasir.predicted_cached_tokens': 0,
      },
    });
    expect(Number(attempt.endTimeUnixNano)).toBeLessThanOrEqual(Number(server.endTimeUnixNano));
    expect(Number(read.startTimeUnixNano)).toBeLessThanOrEqual(Number(schedule.startTimeUnixNano));
    // The engine goes on from the attempt that brought it the request.
    expect(engine.received[0]!.headers).toMatchObject({ traceparent: `00-${TRACE}-${attempt.spanId}-01`, tracestate: 'a=b' });
  });

  it('have a span for each attempt, a refused one as an error', async () => {
    const running = await start({ endpoint, sampleRatio: 1 });
    expect((await ask(running, {}, chatBody({ user: 'fail once' }))).status).toBe(200);
    const attempts = (await received()).filter(({ name }) => name === 'attempt');
    expect(attempts.map(({ attributes, status }) => [attributes['kvasir.outcome'], status.code])).toEqual([
      ['refused', 2],
      ['completed', 0],
    ]);
    expect(engine.received.map(({ headers }) => String(headers.traceparent).split('-')[2])).toEqual(
      attempts.map(({ spanId }) => spanId),
    );
  });

  it('of requests that are not sampled are not sent, and engines are told so', async () => {
    const running = await start({ endpoint, sampleRatio: 0 });
    await ask(running);
    await ask(running, { traceparent: `00-${TRACE}-${PARENT}-00` });
    expect(engine.received.map(({ headers }) => headers.traceparent)).toEqual([
      expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/),
      expect.stringMatching(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`)),
    ]);
    expect(await received()).toEqual([]);
  });

  it('do not let clients decide where that is configured', async () => {
    const running = await start({ endpoint, sampleRatio: 0, followClients: false });
    await ask(running, { traceparent: sampled });
    expect(await received()).toEqual([]);
  });

  it('tell of a request that was refused before it had a place to go', async () => {
    const running = await start({ endpoint, sampleRatio: 1 });
    await ask(running, { traceparent: 'nonsense' }, '{"model":"none"}');
    expect(await received()).toMatchObject([
      { name: 'read' },
      { kind: 2, status: { code: 2 }, attributes: { 'http.response.status_code': 404, 'error.type': 'route_not_found' } },
    ]);
  });

  it('that the collector does not take are counted, and cost no request', async () => {
    collector.status = 400;
    const running = await start({ endpoint, sampleRatio: 1 });
    expect((await ask(running)).status).toBe(200);
    // A new configuration ends the spans of the old one.
    await running.router.reconfigure({ kind: 'valid', config: routerConfig() });
    const page = async () => (await send(`http://127.0.0.1:${running.router.metricsAddress.port}`, '/metrics')).body;
    let text = await page();
    for (let i = 0; i < 100 && !text.includes('spans_total{'); i++) text = await page();
    expect(seriesValue(parseFamilies(text), 'kvasir_router_spans_total', 'outcome="failed"')).toBe(4);
  });
});
