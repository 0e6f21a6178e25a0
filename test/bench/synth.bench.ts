/**
 * Synthesis of many models: `GitOpsApp` against cdk8s' own `App` with a file per chart, the same stack in the same process, one chart
 * per model. Prints both times and their ratio, and fails when the ratio is above a third.
 *
 *     npx tsx test/bench/synth.bench.ts [models, 1000 unless said]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Chart, YamlOutputType } from 'cdk8s';
import { Accelerator, between, Engine, GitOpsApp, Metric, ModelBooster, ModelSource } from '../../constructs';

const GREATEST_RATIO = 1 / 3;
const models = Number(process.argv[2] ?? 1000);

function addModels(app: App, count: number): void {
  for (let i = 0; i < count; i += 1) {
    const chart = new Chart(app, `team-${i}`, { namespace: `team-${i}` });
    new ModelBooster(chart, `model-${i}`, {
      source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
      engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
      pools: { l40s: { accelerator: Accelerator.L40S_48GB, replicas: between(1, 4) } },
      scaleOn: [Metric.runningRequests(8)],
    });
  }
}

function seconds(make: () => App, count: number): number {
  const start = performance.now();
  const app = make();
  addModels(app, count);
  app.synth();
  return (performance.now() - start) / 1000;
}

const folder = mkdtempSync(join(tmpdir(), 'kvasir-bench-'));
try {
  const gitOps = (name: string) => () => new GitOpsApp({ outdir: join(folder, name) });
  const stock = (name: string) => () => new App({ outdir: join(folder, name), yamlOutputType: YamlOutputType.FILE_PER_CHART });
  seconds(gitOps('warm-a'), 20);
  seconds(stock('warm-b'), 20);
  const ours = seconds(gitOps('ours'), models);
  const again = seconds(gitOps('ours'), models);
  const theirs = seconds(stock('theirs'), models);
  console.log(`${models} models, construction and synth`);
  console.log(`GitOpsApp, checks and a file per object: ${ours.toFixed(2)} s; again over the same folder: ${again.toFixed(2)} s`);
  console.log(`cdk8s App, a file per chart:              ${theirs.toFixed(2)} s`);
  console.log(`ratio: ${(ours / theirs).toFixed(3)} (must be at most ${GREATEST_RATIO.toFixed(3)})`);
  if (ours / theirs > GREATEST_RATIO) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
