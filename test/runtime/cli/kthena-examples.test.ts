import { join } from 'node:path';
import { request } from 'undici';
import { type RunningPreview, startPreview } from '../../../runtime/cli/preview/preview';
import { formatAddress } from '../../../runtime/lib/http-listen';
import { silentLogger } from '../../../runtime/lib/logger';
import type { Finding } from '../../../src/errors';
import { ShiftingClock } from '../../helpers/shifting-clock';

const folder = join(__dirname, '../../fixtures/kthena-examples/kthena-router');
const anyPort = { host: '127.0.0.1', port: 0 };

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Kthena's own files, as they are, under a preview. */
class Previewed {
  readonly findings: Finding[] = [];
  /** Fast while models load, then real: the files bound an answer's first byte to ten seconds. */
  private readonly clock = new ShiftingClock(400);
  preview!: RunningPreview;

  async start(...files: string[]): Promise<void> {
    this.preview = await startPreview({
      paths: files.map((file) => join(folder, file)),
      listen: anyPort,
      metricsListen: anyPort,
      debugListen: anyPort,
      clock: this.clock,
      seed: 1,
      log: silentLogger(),
      onFinding: (finding) => this.findings.push(finding),
      onScaled: () => undefined,
    });
    await this.preview.cluster.settled();
    await this.preview.router.whenReady();
    this.clock.shift(1);
  }

  async chat(model: string, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await request(`http://${formatAddress(this.preview.router.address)}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model, stream: false, max_tokens: 4, messages: [{ role: 'user', content: 'hello world' }] }),
    });
    return { status: response.statusCode, body: await response.body.text() };
  }
}

describe("Kthena's examples, unchanged", () => {
  let previewed: Previewed;
  beforeEach(() => {
    previewed = new Previewed();
  });
  afterEach(() => previewed.preview.close());

  it('LLM-Mock.yaml: three pods become ready and the route answers with the model that its server names', async () => {
    await previewed.start('LLM-Mock.yaml');
    expect(previewed.findings).toEqual([]);
    expect(previewed.preview.cluster.workloads()).toEqual([
      { kind: 'Deployment', namespace: 'default', name: 'vllm-llama3-8b-instruct', desired: 3, ready: 3 },
    ]);
    const { status, body } = await previewed.chat('Llama-3.1');
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ model: 'meta-llama/Llama-3.1-8B-Instruct', object: 'chat.completion' });
  });

  it('ModelRouteSimple.yaml over ModelServer-ds1.5b.yaml answers, and a model that no route names is a 404', async () => {
    await previewed.start('LLM-Mock-ds1.5b.yaml', 'ModelServer-ds1.5b.yaml', 'ModelRouteSimple.yaml');
    const { status, body } = await previewed.chat('deepseek-simple');
    expect({ status, model: (JSON.parse(body) as { model: string }).model }).toEqual({
      status: 200,
      model: 'deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B',
    });
    const missing = await previewed.chat('deepseek-complex');
    expect(missing.status).toBe(404);
    expect(JSON.parse(missing.body)).toMatchObject({
      error: { type: expect.any(String), message: expect.stringContaining('deepseek-complex') },
    });
  });

  it('ModelRouteMultiModels.yaml: the header user-type chooses the model', async () => {
    await previewed.start(
      'LLM-Mock-ds1.5b.yaml',
      'LLM-Mock-ds7b.yaml',
      'ModelServer-ds1.5b.yaml',
      'ModelServer-ds7b.yaml',
      'ModelRouteMultiModels.yaml',
    );
    const { spec } = previewed.preview.cluster.objects.list('ModelRoute')[0]!;
    const model = spec.modelName!;
    expect((await previewed.chat(model, { 'user-type': 'premium' })).body).toContain('DeepSeek-R1-Distill-Qwen-7B');
    for (const headers of [{}, { 'user-type': 'basic' }, { 'user-type': '' }] as Record<string, string>[]) {
      expect((await previewed.chat(model, headers)).body).toContain('DeepSeek-R1-Distill-Qwen-1.5B');
    }
  });

  it('ModelRouteSubset.yaml: of 500 requests 70 and 30 of a hundred go to the two versions, within 5', async () => {
    await previewed.start('LLM-Mock-ds1.5b-Canary.yaml', 'ModelServer-ds1.5b-Canary.yaml', 'ModelRouteSubset.yaml');
    const statuses = new Set<number>();
    for (let batch = 0; batch < 20; batch++) {
      const answers = await Promise.all(Array.from({ length: 25 }, () => previewed.chat('deepseek-subset')));
      for (const { status } of answers) statuses.add(status);
    }
    expect([...statuses]).toEqual([200]);
    const shareOf = (server: string): number => previewed.preview.traffic.of(`default/${server}`).requests / 500;
    expect(Math.abs(shareOf('deepseek-r1-1-5b-v1') - 0.7)).toBeLessThanOrEqual(0.05);
    expect(Math.abs(shareOf('deepseek-r1-1-5b-v2') - 0.3)).toBeLessThanOrEqual(0.05);
  });

  it('ModelRouteLora.yaml: adapters answer under their own names, and one that no route names is a 404', async () => {
    await previewed.start('LLM-Mock-ds7b.yaml', 'ModelServer-ds7b.yaml', 'ModelRouteLora.yaml');
    for (const adapter of ['lora-A', 'lora-B']) {
      const { status, body } = await previewed.chat(adapter);
      expect({ status, model: (JSON.parse(body) as { model: string }).model }).toEqual({ status: 200, model: adapter });
    }
    expect((await previewed.chat('lora-NonExistent')).status).toBe(404);
  });
});
