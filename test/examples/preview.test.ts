import { join } from 'node:path';
import { request } from 'undici';
import { type RunningPreview, startPreview } from '../../runtime/cli/preview/preview';
import { formatAddress } from '../../runtime/lib/http-listen';
import { silentLogger } from '../../runtime/lib/logger';
import type { ModelRoute } from '../../src/api/model-route';
import { findingLine } from '../../src/errors';
import { EXAMPLES, synthesizeExamples } from '../helpers/all-examples';
import { ShiftingClock } from '../helpers/shifting-clock';
import { temporaryFolders } from '../helpers/temporary-folder';

const newFolder = temporaryFolders();
const anyPort = { host: '127.0.0.1', port: 0 };

describe('an example under a preview', () => {
  const outdir = newFolder();
  let preview: RunningPreview;
  /** As it was when all pods were ready; the autoscaler goes on. */
  let workloads: ReturnType<RunningPreview['cluster']['workloads']>;
  beforeAll(() => synthesizeExamples(outdir));
  afterEach(() => preview.close());

  /** @returns once all pods are ready; what the preview said until then. */
  async function start(example: string): Promise<readonly string[]> {
    const lines: string[] = [];
    // Fast while models load, then real: requests have deadlines.
    const clock = new ShiftingClock(2000);
    preview = await startPreview({
      paths: [join(outdir, example)],
      listen: anyPort,
      metricsListen: anyPort,
      debugListen: anyPort,
      clock,
      seed: 1,
      log: silentLogger(),
      onFinding: (finding) => lines.push(findingLine(finding)),
      onScaled: () => undefined,
    });
    await preview.cluster.settled();
    workloads = preview.cluster.workloads();
    await preview.router.whenReady();
    clock.shift(1);
    return lines;
  }

  const url = (path: string): string => `http://${formatAddress(preview.router.address)}${path}`;

  async function chat(model: string, headers: Readonly<Record<string, string>> = {}) {
    const response = await request(url('/v1/chat/completions'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model, max_tokens: 4, messages: [{ role: 'user', content: 'hello world' }] }),
    });
    const body = (await response.body.json()) as { model?: string; choices?: readonly { message: { content: string } }[] };
    return { status: response.statusCode, model: body.model, text: body.choices?.[0]?.message.content };
  }

  const routes = (): readonly ModelRoute[] => preview.cluster.objects.list('ModelRoute');
  const requestsOf = (server: string): number => preview.traffic.of(server).requests;

  it.each(EXAMPLES)(
    '%s: objects are accepted, pods become ready, routes resolve, and every model is listed and answers',
    async (example) => {
      expect(await start(example)).toEqual([]);
      const { objects } = preview.cluster;
      expect(workloads).toEqual(workloads.map((workload) => ({ ...workload, ready: workload.desired })));
      expect(workloads.filter(({ namespace, ready }) => namespace === 'llm' && ready > 0)).not.toEqual([]);
      for (const { metadata, spec } of routes()) {
        for (const target of spec.rules.flatMap(({ targetModels }) => targetModels)) {
          const [kind, name] =
            target.modelServerName === undefined
              ? (['ExternalModelProvider', target.externalModelProviderName] as const)
              : (['ModelServer', target.modelServerName] as const);
          expect(objects.get(kind, metadata.namespace ?? 'default', name ?? '')?.metadata.name).toBe(name);
        }
      }
      const names = routes().flatMap(namesOf).sort();
      expect(names.length).toBeGreaterThan(0);
      const listed = (await (await request(url('/v1/models'))).body.json()) as {
        readonly data: readonly { readonly id: string }[];
      };
      expect(listed.data.map(({ id }) => id).sort()).toEqual(names);
      const answers = await Promise.all(names.map((name) => chat(name)));
      expect(answers).toEqual(names.map((model) => ({ status: 200, model, text: 'Simulated answer' })));
    },
  );

  it('canary: a tester is answered by the new engine each time', async () => {
    await start('canary');
    const answers = await Promise.all(Array.from({ length: 20 }, () => chat('qwen3-8b', { 'x-canary': 'always' })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect([requestsOf('llm/qwen3-8b-next'), requestsOf('llm/qwen3-8b')]).toEqual([20, 0]);
  });

  it('external-overflow: what may leave stays, while the provider has no credential, and the router says so', async () => {
    await start('external-overflow');
    const answers = await Promise.all(Array.from({ length: 30 }, () => chat('qwen3-8b', { 'x-data-class': 'public' })));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 Simulated answer']));
    const page = await request(`http://${formatAddress(preview.router.debugAddress)}/debug/findings`);
    expect(await page.body.text()).toContain('routing/provider-not-ready');
  });
});

/** What clients may ask for. */
function namesOf({ spec }: ModelRoute): readonly string[] {
  return [...(spec.modelName === undefined ? [] : [spec.modelName]), ...(spec.loraAdapters ?? [])];
}
