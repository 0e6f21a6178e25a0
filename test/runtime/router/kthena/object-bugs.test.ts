import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { wallClock } from '../../../../runtime/lib/wall-clock';
import type { KubeObject } from '../../../../src/api/meta';
import type { Finding } from '../../../../src/errors';
import { type ManifestRouter, type ManifestRouterOptions, startManifestRouter } from '../../../helpers/manifest-router';
import { chatBody, modelRoute, modelServer, pod, send, TestEngine, until } from '../../../helpers/router-harness';

const ok: TestEngine['answer'] = (_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end('{"object":"chat.completion","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}');
};

interface DumpedPod {
  readonly name: string;
  readonly metrics: Readonly<Record<string, number | undefined>>;
}

/** A pod with parts of it replaced. */
function changed(
  object: KubeObject,
  parts: { readonly labels?: Readonly<Record<string, string>>; readonly ready?: boolean },
): KubeObject {
  const { labels, ready } = parts;
  const one = object as KubeObject & { readonly status: object };
  return {
    ...one,
    metadata: { ...one.metadata, ...(labels === undefined ? {} : { labels }) },
    status: { ...one.status, conditions: [{ type: 'Ready', status: ready === false ? 'False' : 'True' }] },
  } as KubeObject;
}

describe("Bugs of Kthena's router about what it knows of a cluster, each with the right behaviour", () => {
  let at: ManifestRouter;
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function engines(count: number, answer = ok): Promise<readonly TestEngine[]> {
    const started = await Promise.all(Array.from({ length: count }, () => new TestEngine(answer).start()));
    closers.push(() => Promise.all(started.map((engine) => engine.kill())));
    return started;
  }

  async function start(objects: readonly KubeObject[], more: Partial<ManifestRouterOptions> = {}): Promise<void> {
    const started = await startManifestRouter({ objects, ...more });
    closers.push(() => started.close());
    at = started;
  }

  /** An engine whose page of metrics never comes. */
  async function silentAboutItself(): Promise<{ readonly port: number }> {
    const server = createServer((message, response) => {
      message.resume();
      if (message.method === 'POST') response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    });
    return server.address() as AddressInfo;
  }

  const ask = () => send(at.url, '/v1/chat/completions', chatBody());
  const status = async (): Promise<number> => (await ask()).status;
  const dumped = async (): Promise<ReadonlyMap<string, DumpedPod>> => {
    const { pods } = await at.debug<{ pods: readonly DumpedPod[] | null }>('config_dump/pods');
    return new Map((pods ?? []).map((each) => [each.name, each]));
  };

  it('B13: what is deleted is gone: route, pods, server, and they serve again when they are back', async () => {
    const [engine] = await engines(1);
    const [server, route, one] = [modelServer('server'), modelRoute('route', 'server'), pod('pod-0', 'server', engine!.port)];
    await start([server, route, one]);
    for (const [object, without] of [
      [route, 404],
      [one, 503],
      [server, 404],
    ] as const) {
      expect(await status()).toBe(200);
      await at.remove(object);
      expect([object.kind, await status()]).toEqual([object.kind, without]);
      await at.put(object);
    }
    expect(await status()).toBe(200);
  });

  it('B14: a pod that is relabelled gets nothing more, and a selector that matches nothing has no pods', async () => {
    const [first, second] = await engines(2);
    const pods = [pod('pod-0', 'server', first!.port), pod('pod-1', 'server', second!.port)];
    await start([modelServer('server'), modelRoute('route', 'server'), ...pods]);
    await at.put(changed(pods[0]!, { labels: { app: 'elsewhere' } }));
    first!.received.length = 0;
    for (let i = 0; i < 20; i++) expect(await status()).toBe(200);
    expect([first!.received.length, second!.received.length]).toEqual([0, 20]);
    await at.put(modelServer('server', { workloadSelector: { matchLabels: { app: 'nobody' } } }));
    expect(await status()).toBe(503);
    expect(await at.debug('config_dump/namespaces/default/modelservers/server')).toMatchObject({ associatedPods: [] });
  });

  it('B14: a pod whose role changes is in the other role, and in no more than one', async () => {
    const [first, second] = await engines(2);
    const labels = (role: string) => ({ app: 'server', group: 'a', role });
    const pods = [pod('pod-0', 'server', first!.port), pod('pod-1', 'server', second!.port)];
    const pdGroup = { groupKey: 'group', prefillLabels: { role: 'p' }, decodeLabels: { role: 'd' } };
    await start([
      modelServer('server', { workloadSelector: { matchLabels: { app: 'server' }, pdGroup } }),
      modelRoute('route', 'server'),
      changed(pods[0]!, { labels: labels('p') }),
      changed(pods[1]!, { labels: labels('d') }),
    ]);
    const roles = () => at.debug('config_dump/namespaces/default/modelservers/server');
    expect(await roles()).toMatchObject({ prefillPods: ['default/pod-0'], decodePods: ['default/pod-1'] });
    await at.put(changed(pods[0]!, { labels: labels('d') }), changed(pods[1]!, { labels: labels('p') }));
    expect(await roles()).toMatchObject({ prefillPods: ['default/pod-1'], decodePods: ['default/pod-0'] });
  });

  it('B15: a pod whose metrics hang makes nobody else’s old, and B29: the router is alive while it waits for them', async () => {
    const [engine] = await engines(1);
    const hanging = await Promise.all([silentAboutItself(), silentAboutItself()]);
    const answers: number[] = [];
    await start(
      [
        modelServer('server'),
        modelRoute('route', 'server'),
        pod('pod-0', 'server', engine!.port),
        ...hanging.map(({ port }, i) => pod(`hangs-${i}`, 'server', port)),
      ],
      {
        // The router gives a page five seconds of its own.
        clock: wallClock(4),
        beforeReady: async ({ address }) => {
          const url = `http://127.0.0.1:${address.port}`;
          answers.push((await send(url, '/healthz')).status, (await send(url, '/readyz')).status);
        },
      },
    );
    expect(answers).toEqual([200, 503]);
    engine!.metricsPage = 'vllm:num_requests_waiting{model_name="m"} 7\n';
    let seen: number | undefined;
    const reading = setInterval(() => void dumped().then((pods) => (seen = pods.get('pod-0')?.metrics.requestWaitingNum)), 100);
    await until(() => seen === 7, 'the new page is seen', 8_000).finally(() => clearInterval(reading));
    expect((await dumped()).get('hangs-0')!.metrics.requestWaitingNum).toBeUndefined();
    expect(await status()).toBe(200);
  });

  it('B16: a family that is missing is unknown, ranks count together, and older names are read', async () => {
    const started = await engines(3);
    started[0]!.metricsPage = 'vllm:num_requests_running{model_name="m"} 2\n';
    started[1]!.metricsPage = [0, 1]
      .map((rank) => `vllm:num_requests_waiting{engine="${rank}",model_name="m"} ${rank === 0 ? 5 : 0}\n`)
      .join('');
    started[2]!.metricsPage = 'vllm:gpu_cache_usage_perc{model_name="m"} 0.25\n';
    const pods = started.map(({ port }, i) => pod(`pod-${i}`, 'server', port));
    await start([modelServer('server'), modelRoute('route', 'server'), ...pods]);
    for (let i = 0; (await dumped()).get('pod-2')!.metrics.gpuCacheUsage !== 0.25; i++)
      if (i > 100) throw new Error('never scraped');
    const known = await dumped();
    expect(known.get('pod-0')!.metrics).toMatchObject({ requestRunningNum: 2 });
    expect(known.get('pod-0')!.metrics.requestWaitingNum).toBeUndefined();
    expect(known.get('pod-1')!.metrics.requestWaitingNum).toBe(5);
  });

  it('B17: what is in flight at a pod stays right through a phase of not being ready, and is zero in the end', async () => {
    let finish = (): void => undefined;
    const [engine] = await engines(1, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
      finish = () => response.end('data: [DONE]\n\n');
    });
    const one = pod('pod-0', 'server', engine!.port);
    await start([modelServer('server'), modelRoute('route', 'server'), one]);
    const answer = at.chat('m', { stream: true });
    await until(() => at.router.endpoints.all()[0]?.inFlight === 1, 'the stream is in flight');
    await at.put(changed(one, { ready: false }));
    expect(await status()).toBe(503);
    await at.put(changed(one, { ready: true }));
    expect(at.router.endpoints.all().map(({ inFlight }) => inFlight)).toEqual([1]);
    finish();
    expect(await answer).toMatchObject({ status: 200, isCut: false });
    await until(() => at.router.load().activeRequests === 0, 'the request is over');
    expect(at.router.endpoints.all().map(({ inFlight }) => inFlight)).toEqual([0]);
    expect(await at.metric('kthena_router_active_upstream_requests')).toBe(0);
  });

  it('B31: what is wrong with an object is told with its field and what to do, though no status of it is written', async () => {
    const targetModels = [{ modelServerName: 'server', weight: 100 }];
    const rules = [{ name: 'bad', modelMatch: { headers: { x: { regex: '(' } } }, targetModels }];
    const cloud = {
      apiVersion: 'networking.serving.volcano.sh/v1alpha1',
      kind: 'ExternalModelProvider',
      metadata: { name: 'cloud', namespace: 'default' },
      spec: { baseURL: 'https://llm.invalid', auth: { secretRef: { name: 'no-such-secret', key: 'token' } } },
    } as unknown as KubeObject;
    await start([modelServer('server'), modelRoute('bad', 'server', { rules } as never), cloud]);
    const { findings } = await at.debug<{ findings: readonly Finding[] }>('findings');
    const told = (name: string) => [...at.cluster.findings(), ...findings].find(({ object }) => object?.includes(name));
    expect(told('bad')).toMatchObject({
      field: expect.stringContaining('rules[0].modelMatch.headers'),
      remedy: expect.any(String),
    });
    expect(told('cloud')).toMatchObject({ message: expect.stringContaining('no-such-secret'), remedy: expect.any(String) });
  });

  it('B35: of changes that come fast the last one counts', async () => {
    const [engine] = await engines(1);
    const route = (i: number): KubeObject => modelRoute('route', 'server', { modelName: i % 2 === 0 ? 'm' : 'other' });
    await start([modelServer('server'), route(0), pod('pod-0', 'server', engine!.port)]);
    for (let i = 1; i <= 21; i++) await at.folder.put(route(i));
    await until(() => at.router.isReady(), 'the router is ready');
    expect([await status(), (await at.chat('other')).status]).toEqual([404, 200]);
  });

  it('B36: nothing is remembered of the pods of a ModelServer that was deleted', async () => {
    const [engine] = await engines(1);
    const server = modelServer('server');
    await start([server, modelRoute('route', 'server'), pod('pod-0', 'server', engine!.port)]);
    const long = { messages: [{ role: 'user', content: 'a prompt of many blocks, '.repeat(200) }] };
    for (let i = 0; i < 3; i++) expect((await at.chat('m', long)).status).toBe(200);
    const index = () => at.debug<{ blocks: number; endpoints: readonly { indexedBytes: number }[] }>('index');
    expect((await index()).endpoints[0]!.indexedBytes).toBeGreaterThan(1_000);
    await at.remove(server);
    expect(await index()).toMatchObject({ blocks: 0, endpoints: [] });
    await at.put(server);
    expect((await index()).endpoints).toMatchObject([{ indexedBytes: 0 }]);
  });

  it('B42: objects that say nothing of what is needed stop nobody else’s requests', async () => {
    const [engine] = await engines(1);
    const { workloadSelector: _selector, ...spec } = (modelServer('broken') as KubeObject & { spec: Record<string, unknown> })
      .spec;
    const noSelector = { ...modelServer('broken'), spec } as unknown as KubeObject;
    const targetModels = [{ modelServerName: 'server', weight: 100 }];
    const nullMatch = modelRoute('null-match', 'server', {
      modelName: 'other',
      rules: [{ name: 'null', modelMatch: { headers: { x: null } }, targetModels }],
    } as never);
    await start([
      noSelector,
      nullMatch,
      modelServer('server'),
      modelRoute('route', 'server'),
      pod('pod-0', 'server', engine!.port),
    ]);
    expect(await status()).toBe(200);
    expect((await at.chat('other')).status).not.toBe(500);
    expect(at.cluster.findings().map(({ object }) => object)).toEqual(
      expect.arrayContaining([expect.stringContaining('broken'), expect.stringContaining('null-match')]),
    );
  });
});
