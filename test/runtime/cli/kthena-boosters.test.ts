import { join } from 'node:path';
import { request } from 'undici';
import { type RunningPreview, startPreview } from '../../../runtime/cli/preview/preview';
import { formatAddress } from '../../../runtime/lib/http-listen';
import { silentLogger } from '../../../runtime/lib/logger';
import { type Finding, findingLine } from '../../../src/errors';
import { FIXTURES } from '../../helpers/example-objects';
import { ShiftingClock } from '../../helpers/shifting-clock';

const anyPort = { host: '127.0.0.1', port: 0 };

describe("Kthena's ModelBooster examples under a preview, unchanged", () => {
  let preview: RunningPreview;
  afterEach(() => preview.close());

  async function start(file: string): Promise<readonly Finding[]> {
    const findings: Finding[] = [];
    const clock = new ShiftingClock(400);
    preview = await startPreview({
      paths: [join(FIXTURES, 'kthena-examples/model-booster', file)],
      listen: anyPort,
      metricsListen: anyPort,
      debugListen: anyPort,
      clock,
      seed: 1,
      log: silentLogger(),
      onFinding: (finding) => findings.push(finding),
      onScaled: () => undefined,
    });
    await preview.cluster.settled();
    await preview.router.whenReady();
    clock.shift(1);
    return findings;
  }

  async function chat(model: string): Promise<{ readonly status: number; readonly body: string }> {
    const response = await request(`http://${formatAddress(preview.router.address)}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 4, messages: [{ role: 'user', content: 'hello world' }] }),
    });
    return { status: response.statusCode, body: await response.body.text() };
  }

  it('Qwen2.5-0.5B-Instruct.yaml answers under the name of the booster, by the model that the engine was told to serve', async () => {
    expect((await start('Qwen2.5-0.5B-Instruct.yaml')).map(findingLine)).toEqual([]);
    const { status, body } = await chat('demo');
    expect({ status, model: (JSON.parse(body) as { model: string }).model }).toEqual({
      status: 200,
      model: 'Qwen2.5-0.5B-Instruct',
    });
  });

  it('Qwen2.5-Coder-32B-Instruct.yaml is a 404 as in a cluster, and the preview says why', async () => {
    const lines = (await start('Qwen2.5-Coder-32B-Instruct.yaml')).map(findingLine);
    expect(lines).toContainEqual(
      expect.stringContaining('set served-model-name to qwen25 in config [model-booster/served-name]'),
    );
    expect((await chat('qwen25-coder-32b')).status).toBe(404);
  });

  it.each([
    ['lmcache-pd-disaggregation.yaml', 'qwen-lmcache-pd-qwen-lmcache'],
    ['nixl-pd-disaggregation.yaml', 'qwen-nixl-pd-qwen-nixl'],
    ['prefill-decode-disaggregation.yaml', 'deepseek-v2-lite-deepseek-v2-lite'],
  ])('%s has a prefill and a decode pod ready', async (file, name) => {
    await start(file);
    expect(preview.cluster.workloads()).toMatchObject([{ kind: 'ModelServing', name, desired: 1, ready: 1 }]);
    const roles = preview.cluster.objects.list('Pod').map(({ metadata }) => metadata.labels?.['modelserving.volcano.sh/role']);
    expect(roles.sort()).toEqual(['decode', 'prefill']);
  });
});
