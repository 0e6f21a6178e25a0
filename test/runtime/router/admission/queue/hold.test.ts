import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Sleeper, WakeSignal } from '../../../../../runtime/cluster/wake-signal';
import { HeldEngine, queueConfig, seatedPod } from '../../../../helpers/queue-harness';
import {
  chatBody,
  modelRoute,
  modelServer,
  send,
  startTestRouter,
  type TestRouter,
  until,
} from '../../../../helpers/router-harness';

/** A workload that sleeps until somebody writes its lease. */
class SleepingWorkload implements WakeSignal {
  leases = 0;
  isThere = true;

  sleepersOf(): readonly Sleeper[] {
    const target = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'server' };
    return this.isThere ? [{ target, uid: 'uid-1', isAsleep: true }] : [];
  }

  async wake() {
    this.leases += 1;
    return { kind: 'applied' as const, version: '1' };
  }
}

const STREAM = chatBody({ stream: true });
const saying = (content: string): string => chatBody({ messages: [{ role: 'user', content }] });

describe('requests for a model that sleeps', () => {
  let workload: SleepingWorkload;
  let engine: HeldEngine;
  let at: TestRouter;

  const open = async (wake: Parameters<typeof queueConfig>[0]['wake'] = {}, route = {}): Promise<void> => {
    workload = new SleepingWorkload();
    engine = (await new HeldEngine().start()) as HeldEngine;
    at = await startTestRouter({ engines: [], wake: workload, config: queueConfig({ wake }), route });
  };
  const wakeUp = (): void => at.cluster.put(seatedPod('pod-0', 'server', engine.port, 8));
  /** A stream, and what came of it so far. */
  const stream = (
    path = '/v1/chat/completions',
    body = STREAM,
  ): { response?: IncomingMessage; text: string; isOver: boolean; leave(): void } => {
    const request = httpRequest(`${at.url}${path}`, { method: 'POST', agent: false });
    const seen = { response: undefined as IncomingMessage | undefined, text: '', isOver: false, leave: () => request.destroy() };
    request.on('error', () => undefined);
    request.on('response', (response) => {
      seen.response = response;
      response.on('data', (chunk: Buffer) => {
        seen.text += chunk.toString();
      });
      response.on('error', () => undefined);
      response.on('end', () => {
        seen.isOver = true;
      });
    });
    request.end(body);
    return seen;
  };

  afterEach(async () => {
    await until(() => {
      engine.releaseAll();
      return at.router.load().activeRequests === 0;
    }, 'every request is over');
    expect(at.router.load()).toMatchObject({ permits: 0, bodyBytes: 0, exchanges: 0, queued: 0 });
    await at.router.close();
    await engine.kill();
  });

  it('wake it, are held without a word, and are served when a pod is ready', async () => {
    await open();
    const asked = ['one', 'two'].map((content) => send(at.url, '/v1/chat/completions', saying(content)));
    await until(() => at.router.waiting() === 2, 'both are held');
    expect(workload.leases).toBe(1);
    wakeUp();
    await until(() => engine.received.length === 2, 'both are at the engine');
    await until(() => {
      engine.releaseAll();
      return at.records.length === 2;
    }, 'both are over');
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
    expect(at.records[0]!.queue_ms).toBeGreaterThanOrEqual(0);
  });

  it('that do not stream get 503 with the time that a start takes when the silence is over', async () => {
    await open({ silentMs: 60 });
    const refused = await send(at.url, '/v1/chat/completions', chatBody());
    expect([refused.status, JSON.parse(refused.body).error.code]).toEqual([503, 'waking']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(60);
  });

  it('that stream get status 200 and comments then, and the answer in the same stream', async () => {
    await open({ silentMs: 60, commentMs: 50 });
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n');
    };
    const seen = stream();
    await until(() => (seen.text.match(/^: /gm)?.length ?? 0) >= 2, 'two comments came');
    expect(seen.response!.statusCode).toBe(200);
    expect(seen.response!.headers['content-type']).toMatch(/^text\/event-stream/);
    expect(seen.response!.headers['x-request-id']).toBeDefined();
    wakeUp();
    await until(() => seen.isOver, 'the stream ends');
    expect(seen.text.replace(/^: .*\n\n/gm, '')).toBe('data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n');
  });

  it.each([
    ['/v1/chat/completions', /\ndata: \{"error":\{"message":"[^"]*","type":"server_error","param":null,"code":"waking"\}\}\n\n$/],
    ['/v1/messages', /\nevent: error\ndata: \{"type":"error","error":\{"type":"overloaded_error","message":"[^"]*"\}\}\n\n$/],
    ['/v1/responses', /\nevent: error\ndata: \{"type":"error","code":"waking","message":"[^"]*","param":null\}\n\n$/],
  ])('of %s that stream hear of later failures by an error event', async (path, expected) => {
    await open({ silentMs: 50, commentMs: 50, maxMs: 500 });
    const body = path.endsWith('responses') ? '{"model":"m","input":"hi","stream":true}' : STREAM;
    const seen = stream(path, body);
    await until(() => seen.isOver, 'the stream ends');
    expect(seen.response!.statusCode).toBe(200);
    expect(seen.text).toMatch(expected);
    await until(() => at.records.length === 1, 'it is logged');
    expect(at.records[0]).toMatchObject({ status_code: 200, error: { type: 'scheduling' } });
  });

  it('that stream hear an engine’s refusal by an error event, without a second head', async () => {
    await open({ silentMs: 50, commentMs: 50 });
    engine.answer = (_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"too long","type":"BadRequestError","param":null,"code":400}}');
    };
    const seen = stream();
    await until(() => seen.text.includes(': '), 'a comment came');
    wakeUp();
    await until(() => seen.isOver, 'the stream ends');
    expect(seen.text).toMatch(/\ndata: \{"error":\{"message":"too long",.*\}\}\n\n$/);
  });

  it('are forgotten when their client leaves before and after the head of the stream', async () => {
    await open({ silentMs: 100, commentMs: 50 });
    const early = stream();
    await until(() => at.router.waiting() === 1, 'it is held');
    early.leave();
    await until(() => at.router.waiting() === 0, 'it is gone');
    const late = stream();
    await until(() => late.text.includes(': '), 'a comment came');
    late.leave();
    await until(() => at.router.waiting() === 0, 'it is gone');
  });

  it('end with an error event at the end of a drain', async () => {
    await open({ silentMs: 50, commentMs: 50 });
    const seen = stream();
    await until(() => seen.text.includes(': '), 'a comment came');
    await at.router.drain(20);
    await until(() => seen.isOver, 'the stream ends');
    expect(seen.text).toContain('"code":"shutting_down"');
  });

  it('are refused at once where nothing can be woken, or holding is off', async () => {
    await open();
    workload.isThere = false;
    const refused = await send(at.url, '/v1/chat/completions', chatBody());
    expect([refused.status, JSON.parse(refused.body).error.code]).toEqual([503, 'no_endpoints']);
    await at.router.close();
    await engine.kill();
    await open({ enabled: false });
    expect((await send(at.url, '/v1/chat/completions', chatBody())).status).toBe(503);
    expect(workload.leases).toBe(0);
  });

  it('go to another target of their rule that is awake, while the drawn one is woken', async () => {
    const targetModels = [
      { modelServerName: 'server', weight: 100 },
      { modelServerName: 'awake', weight: 1 },
    ];
    await open({}, { rules: [{ name: 'all', targetModels }] });
    at.cluster.put(modelServer('awake'));
    at.cluster.put(seatedPod('pod-1', 'awake', engine.port, 8));
    const asked = ['a', 'b', 'c', 'd', 'e'].map((content) => send(at.url, '/v1/chat/completions', saying(content)));
    await until(() => engine.received.length === 5, 'all are at the engine that is awake');
    await until(() => {
      engine.releaseAll();
      return at.records.length === 5;
    }, 'all are over');
    await Promise.all(asked);
    expect(workload.leases).toBe(1);
  });

  it('hear that their model is gone when its route is deleted meanwhile', async () => {
    await open();
    const asked = send(at.url, '/v1/chat/completions', chatBody());
    await until(() => at.router.waiting() === 1, 'it is held');
    at.cluster.put(modelRoute('other', 'server', { modelName: 'other' }));
    at.cluster.remove('ModelRoute', 'default', 'route');
    expect((await asked).status).toBe(404);
  });
});
