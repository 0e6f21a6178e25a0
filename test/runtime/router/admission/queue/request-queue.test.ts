import { request as httpRequest } from 'node:http';
import { decodeRouterConfig } from '../../../../../src/config/router-config';
import { AUTHORITY_FILE, addProvider, testProvider } from '../../../../helpers/provider-harness';
import { HeldEngine, type QueueRouter, queueConfig, seatedPod, startQueueRouter } from '../../../../helpers/queue-harness';
import { modelRoute, modelServer, type TestEngine, until } from '../../../../helpers/router-harness';

const KEYS = {
  alice: 'sk-alice-000000000000000',
  bob: 'sk-bob-00000000000000000',
  batch: '{"key": "sk-batch-0000000000000000", "name": "batch", "priorityClass": "batch"}',
};
const as = (name: string): Record<string, string> => ({ authorization: `Bearer sk-${name}-${'0'.repeat(20 - name.length)}` });
const AUTH = { required: false, apiKeys: { secretLabel: 'kvasir.dev/api-keys', secrets: [], header: 'x-api-key' } };
const decoded = decodeRouterConfig({ auth: AUTH });
const KEYED = { auth: (decoded as Extract<typeof decoded, { kind: 'valid' }>).config.auth! };
const TRUSTED = { trustedProxies: ['127.0.0.1'] as never };
const CLASSES = {
  classes: [
    { name: 'interactive', queueShare: 1 },
    { name: 'batch', queueShare: 1 },
  ],
  classHeader: 'x-class',
};

/** Value of a metric's series, by the text before it. */
const sampleOf = (page: string, series: string): number | undefined => {
  const line = page.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
};

describe('requests that find no room in a pod', () => {
  const routers: QueueRouter[] = [];
  const others: TestEngine[] = [];
  const open = async (...args: Parameters<typeof startQueueRouter>): Promise<QueueRouter> => {
    const made = await startQueueRouter(...args);
    routers.push(made);
    return made;
  };
  const keyed = async (made: QueueRouter): Promise<QueueRouter> => {
    const { alice, bob, batch } = KEYS;
    made.cluster.putSecret('default/keys', 'kvasir.dev/api-keys=true', {
      alice: `{"key":"${alice.slice(0, 3)}alice-${'0'.repeat(15)}"}`,
      bob: `{"key":"${bob.slice(0, 3)}bob-${'0'.repeat(17)}"}`,
      batch: batch.replace(/sk-batch-0+/, `sk-batch-${'0'.repeat(15)}`),
    });
    return made;
  };

  afterEach(async () => {
    for (const { router, engine } of routers.splice(0)) {
      engine.releaseAll();
      await until(() => {
        engine.releaseAll();
        return router.load().activeRequests === 0;
      }, 'every request is over');
      expect(router.load()).toEqual({
        permits: 0,
        bodyBytes: 0,
        exchanges: 0,
        activeRequests: 0,
        reservedLimits: 0,
        queued: 0,
      });
      for (const { inFlight, queuedTokens } of router.endpoints.all()) expect([inFlight, queuedTokens]).toEqual([0, 0]);
      await router.close();
      await engine.kill();
    }
    for (const each of others.splice(0)) await each.kill();
  });

  it('wait in the router, and go when the answer before them ends', async () => {
    const at = await open();
    const first = at.ask('one');
    await at.untilServed('one');
    const second = at.ask('two');
    await at.untilQueued(1);
    expect(at.engine.came).toEqual(['one']);
    expect(sampleOf(await at.metrics(), 'kthena_router_fairness_queue_size{model="m",user_id="_all"}')).toBe(1);
    at.engine.release('one');
    await at.untilServed('two');
    at.engine.release('two');
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    await until(() => at.records.length === 2, 'both are logged');
    expect(at.records[0]!.queue_ms).toBeUndefined();
    expect(at.records[1]!.queue_ms).toBeGreaterThanOrEqual(0);
    const page = await at.metrics();
    expect(sampleOf(page, 'kthena_router_fairness_queue_size{model="m",user_id="_all"}')).toBe(0);
    expect(sampleOf(page, 'kthena_router_fairness_queue_dequeue_total{model="m",user_id="_all"}')).toBe(1);
    expect(sampleOf(page, 'kthena_router_fairness_queue_duration_seconds_count{model="m",user_id="_all"}')).toBe(1);
    expect(sampleOf(page, 'kvasir_router_queue_requests{priority_class="none"}')).toBe(0);
    expect(sampleOf(page, 'kvasir_router_queue_bytes')).toBe(0);
  });

  it('go to the engine at once where late binding is off', async () => {
    const at = await open({ config: queueConfig({ lateBinding: false }) });
    void at.ask('one');
    void at.ask('two');
    await at.untilServed('one');
    await at.untilServed('two');
  });

  it('go by class, which an API key or a trusted proxy’s header names', async () => {
    const at = await keyed(await open({ config: queueConfig(CLASSES, { ...KEYED, ...TRUSTED }) }));
    const asked = [at.ask('first')];
    await at.untilServed('first');
    asked.push(at.ask('later', as('batch')));
    await at.untilQueued(1);
    asked.push(at.ask('sooner', { ...as('alice'), 'x-class': 'interactive' }));
    await at.untilQueued(2);
    for (const content of ['first', 'sooner', 'later']) {
      await at.untilServed(content);
      at.engine.release(content);
    }
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
    await until(() => at.records.length === 3, 'all are logged');
    expect(at.records.map(({ priority_class }) => priority_class)).toEqual([undefined, 'interactive', 'batch']);
  });

  it('may take a later class by themselves, and no earlier one', async () => {
    const config = queueConfig({
      ...CLASSES,
      classes: [{ name: 'gold', queueShare: 1 }, ...CLASSES.classes],
      defaultClass: 'interactive',
    });
    const at = await open({ config });
    const asked = [at.ask('first')];
    await at.untilServed('first');
    for (const [content, name] of [
      ['down', 'batch'],
      ['plain', ''],
      ['up', 'gold'],
    ] as const) {
      asked.push(at.ask(content, name === '' ? {} : { 'x-class': name }));
      await at.untilQueued(asked.length - 1);
    }
    for (const content of ['first', 'plain', 'up', 'down']) {
      await at.untilServed(content);
      at.engine.release(content);
    }
    await Promise.all(asked);
  });

  it('B18: go by what each user used, with anonymous requests as one user that never jumps to the front', async () => {
    const at = await keyed(await open({ config: queueConfig({ fairness: { enabled: true } }, KEYED) }));
    const asked = [at.ask('alice-1', as('alice'))];
    await at.untilServed('alice-1');
    for (const [content, headers] of [
      ['alice-2', as('alice')],
      ['alice-3', as('alice')],
      ['nobody-1', {}],
      ['nobody-2', {}],
      ['bob-1', as('bob')],
    ] as const) {
      asked.push(at.ask(content, headers));
      await at.untilQueued(asked.length - 1);
    }
    // Output counts twice: after their first requests alice has 200, nobody 60, bob 1,000.
    const usage = { alice: 95, nobody: 25, bob: 495 };
    for (const content of ['alice-1', 'nobody-1', 'bob-1', 'nobody-2', 'alice-2', 'alice-3']) {
      await at.untilServed(content);
      const completion_tokens = usage[content.split('-')[0] as keyof typeof usage];
      at.engine.release(content, { prompt_tokens: 10, completion_tokens });
    }
    expect((await Promise.all(asked)).every(({ status }) => status === 200)).toBe(true);
    expect(sampleOf(await at.metrics(), 'kthena_router_fairness_queue_dequeue_total{model="m",user_id="_all"}')).toBe(6);
  });

  it('of one user that has many at once share with another who comes later, before any of them is answered', async () => {
    const at = await keyed(await open({ maxNumSeqs: 2, config: queueConfig({ fairness: { enabled: true } }, KEYED) }));
    const asked = ['alice-1', 'alice-2'].map((content) => at.ask(content, as('alice')));
    await at.untilServed('alice-1');
    await at.untilServed('alice-2');
    for (const [content, name] of [
      ['alice-3', 'alice'],
      ['bob-1', 'bob'],
    ] as const) {
      asked.push(at.ask(content, as(name)));
      await at.untilQueued(asked.length - 2);
    }
    at.engine.release('alice-1', { prompt_tokens: 1, completion_tokens: 0 });
    await at.untilServed('bob-1');
    expect(at.engine.came).not.toContain('alice-3');
    for (const content of ['alice-2', 'bob-1']) at.engine.release(content);
    await at.untilServed('alice-3');
    at.engine.release('alice-3');
    await Promise.all(asked);
  });

  it('go first where their session had an answer last, and only with its own user’s sessions', async () => {
    const at = await keyed(await open({ config: queueConfig({ sessionBoost: { enabled: true } }, KEYED) }));
    const session = { 'x-session-id': 's', ...as('alice') };
    const asked = [at.ask('turn-1', session)];
    await at.untilServed('turn-1');
    at.engine.release('turn-1');
    await asked[0];
    asked.push(at.ask('busy'));
    await at.untilServed('busy');
    for (const [content, headers] of [
      ['plain', {}],
      ['thief', { 'x-session-id': 's', ...as('bob') }],
      ['turn-2', session],
    ] as const) {
      asked.push(at.ask(content, headers));
      await at.untilQueued(asked.length - 2);
    }
    for (const content of ['busy', 'turn-2', 'plain', 'thief']) {
      await at.untilServed(content);
      at.engine.release(content);
    }
    await Promise.all(asked);
    expect(await at.metrics()).toContain('kthena_router_session_boost_queue_dequeue_total{model="m"} 5');
  });

  it('keep freed room for the next turn of its session during the grace period', async () => {
    const at = await open({ config: queueConfig({ sessionBoost: { enabled: true, gracePeriodMs: 150 } }) });
    const session = { 'x-session-id': 's' };
    const asked = [at.ask('turn-1', session)];
    await at.untilServed('turn-1');
    asked.push(at.ask('plain'));
    await at.untilQueued(1);
    at.engine.release('turn-1');
    await asked[0];
    asked.push(at.ask('turn-2', session));
    await at.untilServed('turn-2');
    expect(at.engine.came).toEqual(['turn-1', 'turn-2']);
    at.engine.release('turn-2');
    await at.untilServed('plain');
    at.engine.release('plain');
    await Promise.all(asked);
  });

  it('B21: never stall, whatever scraped metrics said when the last answer ended', async () => {
    const at = await open({ config: queueConfig({ sessionBoost: { enabled: true } }) });
    at.engine.metricsPage = 'vllm:num_requests_running{model_name="m"} 1\nvllm:num_requests_waiting{model_name="m"} 3\n';
    await until(() => at.router.endpoints.all()[0]?.waiting === 3, 'it is scraped');
    const asked = [at.ask('one')];
    await at.untilServed('one');
    asked.push(at.ask('two'));
    await at.untilQueued(1);
    at.engine.release('one');
    await at.untilServed('two');
    at.engine.release('two');
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('B21: a pass that finds only requests whose clients left lets the next newcomer go by the room that there is then', async () => {
    const at = await open();
    const first = at.ask('one');
    await at.untilServed('one');
    const leaving = leave(at, 'gone');
    await at.untilQueued(1);
    leaving.destroy();
    await at.untilQueued(0);
    const second = at.ask('two');
    await at.untilQueued(1);
    expect(at.engine.came).toEqual(['one']);
    at.engine.release('one');
    await at.untilServed('two');
    at.engine.release('two');
    await Promise.all([first, second]);
  });

  it('are at most as many of one model at endpoints as fairness.maxConcurrent says', async () => {
    const at = await open({ maxNumSeqs: 8, config: queueConfig({ fairness: { maxConcurrent: 2 } }) });
    const asked = ['one', 'two', 'three'].map((content) => at.ask(content));
    await at.untilQueued(1);
    await until(() => at.engine.underWay.length === 2, 'two are served');
    expect(sampleOf(await at.metrics(), 'kthena_router_fairness_queue_inflight{model="m"}')).toBe(2);
    at.engine.releaseAll();
    await at.untilQueued(0);
    await until(() => at.engine.underWay.length === 1, 'the third is served');
    at.engine.releaseAll();
    await Promise.all(asked);
    await until(() => at.router.load().activeRequests === 0, 'all is over');
    expect(sampleOf(await at.metrics(), 'kthena_router_fairness_queue_inflight{model="m"}')).toBe(0);
  });

  describe('and no place to wait', () => {
    it('are refused with 503 and Retry-After when as many wait as may', async () => {
      const at = await open({ config: queueConfig({ maxRequests: 1 }) });
      const asked = [at.ask('one')];
      await at.untilServed('one');
      asked.push(at.ask('two'));
      await at.untilQueued(1);
      const refused = await at.ask('three');
      expect(refused.status).toBe(503);
      expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'queue_full', type: 'server_error' } });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      at.engine.release('one');
      await at.untilServed('two');
      at.engine.release('two');
      await Promise.all(asked);
      expect(
        sampleOf(await at.metrics(), 'kvasir_router_queue_refusals_total{model="m",priority_class="none",code="queue_full"}'),
      ).toBe(1);
    });

    it('are refused when their bytes do not fit', async () => {
      const at = await open({ config: queueConfig({ maxBytes: 500 }) });
      const first = at.ask('one');
      await at.untilServed('one');
      const refused = await at.ask('x'.repeat(600));
      expect([refused.status, JSON.parse(refused.body).error.code]).toEqual([503, 'queue_full']);
      at.engine.release('one');
      await first;
    });

    it('take that of a later class, whose youngest is shed', async () => {
      const at = await open({ config: queueConfig({ maxRequests: 2, ...CLASSES }, TRUSTED) });
      const asked = [at.ask('first')];
      await at.untilServed('first');
      const older = at.ask('older', { 'x-class': 'batch' });
      await at.untilQueued(1);
      const younger = at.ask('younger', { 'x-class': 'batch' });
      await at.untilQueued(2);
      const urgent = at.ask('urgent', { 'x-class': 'interactive' });
      const shed = await younger;
      expect([shed.status, JSON.parse(shed.body).error.code]).toEqual([503, 'shed']);
      expect(Number(shed.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      for (const content of ['first', 'urgent', 'older']) {
        await at.untilServed(content);
        at.engine.release(content);
      }
      expect((await Promise.all([...asked, older, urgent])).map(({ status }) => status)).toEqual([200, 200, 200]);
    });

    it('of a class that may fill a share of the queue are refused beyond it, while others may wait', async () => {
      const classes = [
        { name: 'interactive', queueShare: 1 },
        { name: 'batch', queueShare: 0.5 },
      ];
      const at = await open({ config: queueConfig({ maxRequests: 2, classes }) });
      const asked = [at.ask('first')];
      await at.untilServed('first');
      asked.push(at.ask('second'));
      await at.untilQueued(1);
      expect((await at.ask('third')).status).toBe(503);
      for (const content of ['first', 'second']) {
        await at.untilServed(content);
        at.engine.release(content);
      }
      await Promise.all(asked);
    });

    it('of a user that has most waiting give way to another’s', async () => {
      const at = await keyed(await open({ config: queueConfig({ maxRequests: 2, fairness: { enabled: true } }, KEYED) }));
      const asked = [at.ask('alice-1', as('alice'))];
      await at.untilServed('alice-1');
      asked.push(at.ask('alice-2', as('alice')));
      await at.untilQueued(1);
      const last = at.ask('alice-3', as('alice'));
      await at.untilQueued(2);
      asked.push(at.ask('bob-1', as('bob')));
      expect(JSON.parse((await last).body).error.code).toBe('shed');
      for (const content of ['alice-1', 'bob-1', 'alice-2']) {
        await at.untilServed(content);
        at.engine.release(content);
      }
      expect((await Promise.all(asked)).every(({ status }) => status === 200)).toBe(true);
    });
  });

  it('are answered 503 with Retry-After when they waited as long as their class may', async () => {
    const at = await open({ config: queueConfig({ maxWaitMs: 100 }) });
    const first = at.ask('one');
    await at.untilServed('one');
    const late = await at.ask('two');
    expect([late.status, JSON.parse(late.body).error.code]).toEqual([503, 'queue_timeout']);
    expect(Number(late.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    at.engine.release('one');
    await first;
    expect(at.engine.came).toEqual(['one']);
    expect(sampleOf(await at.metrics(), 'kthena_router_fairness_queue_cancelled_total{model="m",user_id="_all"}')).toBe(1);
  });

  it('are refused at once where the wait before them is expected to be longer than they may wait', async () => {
    const at = await open({ maxNumSeqs: 8, config: queueConfig({ models: { m: { maxExpectedWaitMs: 1 } } }) });
    const first = at.ask('w '.repeat(20_000));
    await until(() => at.engine.underWay.length === 1, 'the long prompt is at the engine');
    const refused = await at.ask('two');
    expect([refused.status, JSON.parse(refused.body).error.code]).toEqual([503, 'wait_too_long']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    at.engine.releaseAll();
    await first;
  });

  it('overflow to a provider of their rule, of weight 0 too, where that is allowed', async () => {
    const config = queueConfig({ maxRequests: 0, overflow: true }, { providers: { caFile: AUTHORITY_FILE } });
    const at = await open({
      config,
      route: {
        rules: [
          {
            name: 'all',
            targetModels: [
              { modelServerName: 'server', weight: 100 },
              { externalModelProviderName: 'cloud', weight: 0 },
            ],
          },
        ],
      },
    });
    const cloud = await testProvider((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(
        '{"object":"chat.completion","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}',
      );
    });
    others.push(cloud);
    addProvider(at, cloud);
    const first = at.ask('one');
    await at.untilServed('one');
    expect((await at.ask('two')).status).toBe(200);
    expect(cloud.received).toHaveLength(1);
    at.engine.release('one');
    await first;
    at.cluster.remove('Pod', 'default', 'pod-0');
    expect((await at.ask('three')).status).toBe(200);
    expect(cloud.received).toHaveLength(2);
    expect(sampleOf(await at.metrics(), 'kvasir_router_queue_overflows_total{model="m"}')).toBe(2);
  });

  it.each([
    ['go to a provider at once where that costs less than the wait', 0, 1],
    ['wait where the provider costs more', 1e9, 0],
  ])('%s', async (_what, secondsPerUnit, served) => {
    const prices = { 'default/cloud': { inputPerMillion: 1, outputPerMillion: 1 } };
    const providers = { caFile: AUTHORITY_FILE, selection: 'cost' as const, secondsPerUnit, prices };
    const targetModels = [
      { modelServerName: 'server', weight: 100 },
      { externalModelProviderName: 'cloud', weight: 0 },
    ];
    const at = await open({
      config: queueConfig({ overflow: true }, { providers }),
      route: { rules: [{ name: 'all', targetModels }] },
    });
    const cloud = await testProvider((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"chat.completion","choices":[]}'),
    );
    others.push(cloud);
    addProvider(at, cloud);
    const first = at.ask('w '.repeat(20_000));
    await until(() => at.engine.underWay.length === 1, 'the long prompt is at the engine');
    const second = at.ask('two');
    await until(() => cloud.received.length + at.router.waiting() === 1, 'the second goes or waits');
    expect(cloud.received).toHaveLength(served);
    at.engine.releaseAll();
    await first;
    if (served === 0) await at.untilServed('two');
    at.engine.releaseAll();
    expect((await second).status).toBe(200);
  });

  it('of one tenant are at most so many, 429 with Retry-After beyond', async () => {
    const at = await keyed(await open({ maxNumSeqs: 8, config: queueConfig({ tenantConcurrency: 1 }, KEYED) }));
    const first = at.ask('one', as('alice'));
    await at.untilServed('one');
    const refused = await at.ask('two', as('alice'));
    expect([refused.status, JSON.parse(refused.body).error.code]).toEqual([429, 'rate_limit_exceeded']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    const other = at.ask('three', as('bob'));
    await at.untilServed('three');
    at.engine.releaseAll();
    await Promise.all([first, other]);
    const again = at.ask('four', as('alice'));
    await at.untilServed('four');
    at.engine.release('four');
    expect((await again).status).toBe(200);
  });

  it('are forgotten at once when their client leaves', async () => {
    const at = await open();
    const first = at.ask('one');
    await at.untilServed('one');
    const leaving = leave(at, 'gone');
    await at.untilQueued(1);
    leaving.destroy();
    await at.untilQueued(0);
    await until(() => at.records.length === 1, 'it is logged');
    expect(at.records[0]).toMatchObject({ status_code: 499 });
    at.engine.release('one');
    await first;
    expect(at.engine.came).toEqual(['one']);
  });

  it('finish during a drain', async () => {
    const at = await open();
    const asked = [at.ask('one')];
    await at.untilServed('one');
    asked.push(at.ask('two'));
    await at.untilQueued(1);
    const drained = at.router.drain(5_000);
    at.engine.release('one');
    await at.untilServed('two');
    at.engine.release('two');
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
    await drained;
  });

  it('are told at the end of a drain', async () => {
    const at = await open();
    const first = at.ask('one').catch(() => undefined);
    await at.untilServed('one');
    const second = at.ask('two');
    await at.untilQueued(1);
    const drained = at.router.drain(50);
    const cut = await second;
    expect([cut.status, JSON.parse(cut.body).error.code]).toEqual([503, 'shutting_down']);
    await first;
    await drained;
  });

  it('B41: hear that their model is gone when its route is deleted while they wait', async () => {
    const at = await open();
    const first = at.ask('one');
    await at.untilServed('one');
    const second = at.ask('two');
    await at.untilQueued(1);
    at.cluster.remove('ModelRoute', 'default', 'route');
    const gone = await second;
    expect([gone.status, JSON.parse(gone.body).error.code]).toEqual([404, 'model_not_found']);
    at.engine.release('one');
    expect((await first).status).toBe(200);
  });

  it('B41: stay when another route still serves their model', async () => {
    const at = await open();
    const first = at.ask('one');
    await at.untilServed('one');
    const second = at.ask('two');
    await at.untilQueued(1);
    at.cluster.put(modelRoute('other', 'server'));
    at.cluster.remove('ModelRoute', 'default', 'route');
    at.engine.release('one');
    await at.untilServed('two');
    at.engine.release('two');
    expect((await Promise.all([first, second])).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('go where the route sends them when they leave, not when they came', async () => {
    const at = await open();
    const elsewhere = (await new HeldEngine().start()) as HeldEngine;
    others.push(elsewhere);
    const first = at.ask('one');
    await at.untilServed('one');
    const second = at.ask('two');
    await at.untilQueued(1);
    at.cluster.put(modelServer('new'));
    at.cluster.put(seatedPod('pod-new', 'new', elsewhere.port));
    at.cluster.put(modelRoute('route', 'new'));
    await until(() => elsewhere.underWay.includes('two'), 'it is at the new engine');
    elsewhere.release('two');
    expect((await second).status).toBe(200);
    await until(() => at.records.length === 1, 'it is logged');
    expect(at.records[0]).toMatchObject({ backend_name: 'default/new', selected_pod: 'pod-new' });
    at.engine.release('one');
    await first;
  });

  it('go to another target of their rule that has room, without waiting', async () => {
    const targetModels = [
      { modelServerName: 'server', weight: 99 },
      { modelServerName: 'second', weight: 1 },
    ];
    const at = await open({ route: { rules: [{ name: 'all', targetModels }] } });
    const second = (await new HeldEngine().start()) as HeldEngine;
    others.push(second);
    at.cluster.put(modelServer('second'));
    at.cluster.put(seatedPod('pod-1', 'second', second.port));
    const asked = ['one', 'two', 'three'].map((content) => at.ask(content));
    await until(() => at.engine.underWay.length + second.underWay.length === 2, 'two are served');
    await at.untilQueued(1);
    expect([at.engine.underWay.length, second.underWay.length]).toEqual([1, 1]);
    second.releaseAll();
    await until(() => second.underWay.length === 1, 'the third is at the second server');
    for (const engine of [at.engine, second]) engine.releaseAll();
    await Promise.all(asked);
  });

  it('hear that nobody is there when the last pod goes', async () => {
    const at = await open();
    const first = at.ask('one');
    await at.untilServed('one');
    const second = at.ask('two');
    await at.untilQueued(1);
    at.cluster.remove('Pod', 'default', 'pod-0');
    const gone = await second;
    expect([gone.status, JSON.parse(gone.body).error.code]).toEqual([503, 'no_endpoints']);
    await first.catch(() => undefined);
  });

  it('go when a pod comes, without waiting for an answer to end', async () => {
    const at = await open();
    const first = at.ask('one');
    await at.untilServed('one');
    const second = at.ask('two');
    await at.untilQueued(1);
    const more = (await new HeldEngine().start()) as HeldEngine;
    others.push(more);
    at.cluster.put(seatedPod('pod-1', 'server', more.port));
    await until(() => more.underWay.includes('two'), 'it is at the new pod');
    more.release('two');
    at.engine.release('one');
    expect((await Promise.all([first, second])).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('go when the engine before them dies', async () => {
    const at = await open({ config: queueConfig({}, { retry: { attempts: 0, intervalMs: 1 } }) });
    const first = at.ask('one');
    await at.untilServed('one');
    const second = at.ask('two');
    await at.untilQueued(1);
    await at.engine.kill();
    expect((await first).status).toBe(502);
    expect((await second).status).toBe(503);
  });

  it('200 of three users with clients that leave: everybody is told, those of a later class first that they must go, and nothing is left', async () => {
    const at = await keyed(
      await open({ maxNumSeqs: 4, config: queueConfig({ ...CLASSES, fairness: { enabled: true }, maxRequests: 120 }, KEYED) }),
    );
    const names = ['alice', 'bob', 'batch'];
    const asked: Promise<number | undefined>[] = [];
    const leaving: { destroy(): void }[] = [];
    for (let i = 0; i < 200; i++) {
      if (i % 5 === 4) leaving.push(leave(at, `gone-${i}`));
      else asked.push(at.ask(`r-${i}`, as(names[i % 3]!)).then(({ status }) => status));
    }
    await until(() => at.router.load().activeRequests + at.records.length === 200, 'all came');
    expect(at.router.waiting()).toBe(120);
    for (const each of leaving) each.destroy();
    let isOver = false;
    const all = Promise.all(asked).finally(() => {
      isOver = true;
    });
    await until(() => {
      at.engine.releaseAll();
      return isOver;
    }, 'all are answered');
    const statuses = await all;
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    const shed = at.records.filter(({ status_code }) => status_code === 503);
    expect(shed.every(({ priority_class }) => priority_class === 'batch')).toBe(true);
  });
});

/** A request whose client may leave. */
function leave(at: QueueRouter, content: string): { destroy(): void } {
  const request = httpRequest(`${at.url}/v1/chat/completions`, { method: 'POST', agent: false });
  request.on('error', () => undefined);
  request.end(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }));
  return request;
}
