import type { RunningEngine } from '../../../runtime/simulator/index';
import { decodeRouterConfig, type RouterConfig } from '../../../src/config/router-config';
import { MODEL, send, startTestRouter, type TestRouter } from '../../helpers/router-harness';
import { startSimulated } from '../../helpers/simulated-engine';

const COMPLETIONS = '/v1/completions';

const engines: RunningEngine[] = [];
let at: TestRouter;

afterEach(async () => {
  await at.router.close();
  for (const engine of engines.splice(0)) engine.kill();
});

function config(scheduler?: object): RouterConfig {
  const decoded = decodeRouterConfig({
    scheduler,
    accessLog: { enabled: false },
    explain: { header: true },
    retry: { attempts: 0 },
  });
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  return decoded.config;
}

/** Engines of which only the last one has the adapter. */
async function start(scheduler?: object): Promise<void> {
  for (let i = 0; i < 4; i++) {
    engines.push(await startSimulated({ maxLoras: 2, ...(i === 3 ? { adapters: { 'lora-a': '/a' } } : {}) }));
  }
  at = await startTestRouter({
    engines,
    config: config(scheduler),
    server: { model: 'tiny' },
    route: { loraAdapters: ['lora-a'] },
  });
  // What engines list is asked for beside scrapes; until it is there, each is as good as another.
  for (let i = 0; (await ask('lora-a')).listed < 4; i++)
    if (i > 200) throw new Error('the engines were not asked for their models');
}

async function ask(model: string) {
  const answer = await send(at.url, COMPLETIONS, JSON.stringify({ model, prompt: 'a b c', max_tokens: 2 }), {
    'x-kvasir-explain': '1',
  });
  if (answer.headers['x-kvasir-decision'] === undefined) return { status: answer.status, listed: 0, pod: undefined };
  const { endpoint, candidates, removed } = JSON.parse(answer.headers['x-kvasir-decision'] as string) as {
    endpoint: string;
    candidates: { terms: Record<string, number> }[];
    removed: Record<string, string[]>;
  };
  const without =
    candidates.filter(({ terms }) => (terms['adapter-load'] ?? 0) > 1).length + (removed['lora-affinity']?.length ?? 0);
  return { status: answer.status, listed: without === 3 ? 4 : without, pod: /\/(.*)#/.exec(endpoint)![1] };
}

it.each<[string, object | undefined]>([
  ['expected-latency', undefined],
  [
    'the filter lora-affinity, with a random score',
    { plugins: { Filter: { enabled: ['lora-affinity'] }, Score: { enabled: [{ name: 'random', weight: 1 }] } } },
  ],
])(
  'requests for an adapter go to the pod that has it, by %s, and those for the base model anywhere',
  async (_name, scheduler) => {
    await start(scheduler);
    for (let i = 0; i < 12; i++) expect(await ask('lora-a')).toMatchObject({ status: 200, pod: 'pod-3' });
    const pods = new Set<string | undefined>();
    for (let i = 0; i < 24; i++) {
      const { status, pod } = await ask(MODEL);
      expect(status).toBe(200);
      pods.add(pod);
    }
    expect(pods.size).toBeGreaterThan(1);
  },
);

it('an adapter that is loaded while the router runs is found', async () => {
  await start();
  const other = engines[0]!;
  const load = { lora_name: 'lora-a', lora_path: '/a' };
  await send(`http://127.0.0.1:${engines[3]!.port}`, '/v1/unload_lora_adapter', JSON.stringify({ lora_name: 'lora-a' }));
  expect((await send(`http://127.0.0.1:${other.port}`, '/v1/load_lora_adapter', JSON.stringify(load))).status).toBe(200);
  const endMs = performance.now() + 8_000;
  for (;;) {
    const { status, pod } = await ask('lora-a');
    if (status === 200 && pod === 'pod-0') break;
    if (performance.now() > endMs) throw new Error('never found');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});
