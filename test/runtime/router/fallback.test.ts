import type { KubeObject } from '../../../src/api/meta';
import {
  chatBody,
  modelServer,
  pod,
  routerConfig,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  until,
} from '../../helpers/router-harness';

const CHAT = '/v1/chat/completions';

let at: TestRouter;
let first: TestEngine;
let second: TestEngine;

const engine = (): Promise<TestEngine> =>
  new TestEngine((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{}');
  }).start();

beforeEach(async () => {
  [first, second] = [await engine(), await engine()];
  at = await startTestRouter({ engines: [first], config: routerConfig({ retry: { intervalMs: 0, budgetRatio: 1 } }) });
  at.cluster.put(modelServer('other'));
  at.cluster.put(pod('other-0', 'other', second.port));
});

afterEach(async () => {
  await until(() => at.router.load().activeRequests === 0, 'every request is over');
  await at.router.close();
  await Promise.all([first.kill(), second.kill()]);
});

function weigh(server: number, other: number): void {
  const route = at.cluster.objects.get('ModelRoute', 'default', 'route')!;
  const targetModels = [
    { modelServerName: 'server', weight: server },
    { modelServerName: 'other', weight: other },
  ];
  at.cluster.put({ ...route, spec: { ...route.spec, rules: [{ targetModels }] } } as KubeObject);
}

async function statuses(count: number): Promise<number[]> {
  const answers: number[] = [];
  for (let i = 0; i < count; i++) answers.push((await send(at.url, CHAT, chatBody())).status);
  return answers;
}

describe('a request whose target has nobody', () => {
  it('goes to another target of its rule, by the log of that one', async () => {
    weigh(100, 1);
    at.cluster.remove('Pod', 'default', 'pod-0');
    expect(await statuses(4)).toEqual([200, 200, 200, 200]);
    expect([first.received.length, second.received.length]).toEqual([0, 4]);
    expect(at.records.map(({ backend_name }) => backend_name)).toEqual(Array(4).fill('default/other'));
  });

  it('never goes to one of weight 0', async () => {
    weigh(100, 0);
    at.cluster.remove('Pod', 'default', 'pod-0');
    expect(await statuses(2)).toEqual([503, 503]);
    expect(second.received).toHaveLength(0);
  });

  it('goes on to another one when all pods of its target failed it', async () => {
    weigh(100, 1);
    first.answer = (_request, response) => response.writeHead(503).end();
    expect(await statuses(3)).toEqual([200, 200, 200]);
    expect(second.received.length).toBe(3);
  });

  it('is refused when none of its targets has anybody', async () => {
    weigh(50, 50);
    at.cluster.remove('Pod', 'default', 'pod-0');
    at.cluster.remove('Pod', 'default', 'other-0');
    expect(await statuses(1)).toEqual([503]);
  });
});
