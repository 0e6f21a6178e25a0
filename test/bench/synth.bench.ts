/**
 * Synthesis of many models: `GitOpsApp` against cdk8s' own `App` with a file per chart, the same stack in the same process, one chart
 * per model; against writing the same files alone; and a tenth as many models against all of them. Prints all times and ratios, and fails
 * when the first ratio is above a third, the second above four, or the time per model grows by more than half.
 *
 *     npx tsx test/bench/synth.bench.ts [models, 1000 unless said]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { App, Chart, YamlOutputType } from 'cdk8s';
import {
  Accelerator,
  between,
  Engine,
  GitOpsApp,
  KvConnector,
  Metric,
  ModelBooster,
  ModelSource,
  PDGroup,
  Rollout,
} from '../../constructs';
import { filesUnder } from '../helpers/temporary-folder';

const GREATEST_RATIO_TO_STOCK = 1 / 3;
const GREATEST_RATIO_TO_WRITING = 4;
const GREATEST_GROWTH_PER_MODEL = 1.5;
const models = Number(process.argv[2] ?? 1000);

const qwen = ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' });
const llama = ModelSource.huggingFace('meta-llama/Llama-3.1-8B-Instruct', {
  revision: '0e9e39f249a16976918f6564b8830bc894c89659',
});
const l40s = { accelerator: Accelerator.L40S_48GB };
const h100 = { accelerator: Accelerator.H100_SXM_80GB };
const scaleOn = [Metric.runningRequests(8)];

/** Kinds of models, taken in turn: one pool, two pools, a fixed number, another engine, a custom one, prefill and decode. */
const KINDS: readonly ((chart: Chart, name: string) => void)[] = [
  (chart, name) =>
    new ModelBooster(chart, name, {
      source: qwen,
      engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
      pools: { l40s: { ...l40s, replicas: between(1, 4) } },
      scaleOn,
    }),
  (chart, name) =>
    new ModelBooster(chart, name, {
      source: qwen,
      engine: Engine.vllm('0.32.0', { maxModelLen: 16_384, extraArgs: ['--enforce-eager'] }),
      pools: {
        l40s: { ...l40s, replicas: between(1, 8) },
        h100: { ...h100, gpusPerPod: 2, replicas: between(0, 4), rollout: Rollout.surge(1) },
      },
      scaleOn,
    }),
  (chart, name) =>
    new ModelBooster(chart, name, {
      source: llama,
      engine: Engine.vllm('0.32.0', { maxModelLen: 8192 }),
      pools: { h100: { ...h100, replicas: 3 } },
    }),
  (chart, name) =>
    new ModelBooster(chart, name, {
      source: llama,
      engine: Engine.sglang('0.5.23'),
      pools: { h100: { ...h100, replicas: between(1, 2) } },
      scaleOn,
    }),
  (chart, name) =>
    new ModelBooster(chart, name, {
      source: ModelSource.pvc('weights', 'own/v3', { shape: 'Qwen/Qwen3-8B' }),
      engine: Engine.custom({ image: 'registry.example.com/own-server:1.2.3', argv: ['serve', '--model={model}'], port: 9000 }),
      pools: { l40s: { ...l40s, replicas: 2 } },
    }),
  (chart, name) =>
    new PDGroup(chart, name, {
      source: llama,
      engine: Engine.vllm('0.32.0', { maxModelLen: 16_384 }),
      prefill: { ...h100, replicas: between(1, 3) },
      decode: { ...h100, replicas: between(1, 3) },
      connector: KvConnector.nixl(),
      ratio: { min: 1 / 3, max: 3 },
    }),
];

function addModels(app: App, count: number): void {
  for (let i = 0; i < count; i += 1)
    KINDS[i % KINDS.length]!(new Chart(app, `team-${i}`, { namespace: `team-${i}` }), `model-${i}`);
}

function seconds(work: () => void): number {
  const start = performance.now();
  work();
  return (performance.now() - start) / 1000;
}

/** Of construction, and of synth. */
interface Seconds {
  readonly construction: number;
  readonly synth: number;
  readonly both: number;
}

function measure(make: () => App, count: number): Seconds {
  let app: App | undefined;
  const construction = seconds(() => {
    app = make();
    addModels(app, count);
  });
  const synth = seconds(() => app!.synth());
  return { construction, synth, both: construction + synth };
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const parent of new Set(Object.keys(files).map(dirname))) mkdirSync(join(folder, parent), { recursive: true });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
}

function check(what: string, value: number, greatest: number): void {
  console.log(`${what}: ${value.toFixed(2)} (must be at most ${greatest.toFixed(2)})`);
  if (value > greatest) process.exitCode = 1;
}

const folder = mkdtempSync(join(tmpdir(), 'kvasir-bench-'));
try {
  const gitOps = (name: string) => () => new GitOpsApp({ outdir: join(folder, name), report: () => undefined });
  const stock = (name: string) => () => new App({ outdir: join(folder, name), yamlOutputType: YamlOutputType.FILE_PER_CHART });
  const few = Math.max(10, Math.round(models / 10));
  measure(gitOps('warm-a'), few);
  measure(stock('warm-b'), 20);
  const tenth = measure(gitOps('few'), few);
  // By turns, so that both meet the same state of disk and machine.
  const rounds = [1, 2, 3].map((round) => {
    const run = measure(gitOps(`ours-${round}`), models);
    const files = filesUnder(join(folder, `ours-${round}`));
    const writing = seconds(() => write(join(folder, `alone-${round}`), files));
    return { run, writing, ratio: run.synth / writing, files: Object.keys(files).length };
  });
  const { run: ours, writing, ratio, files } = [...rounds].sort((x, y) => x.ratio - y.ratio)[1]!;
  const again = measure(gitOps('ours-1'), models);
  const theirs = measure(stock('theirs'), models);

  console.log(`${models} mixed models, ${files} files`);
  console.log(`GitOpsApp:   construction ${ours.construction.toFixed(2)} s, synth ${ours.synth.toFixed(2)} s`);
  console.log(`  the same over the same folder:       synth ${again.synth.toFixed(2)} s`);
  console.log(`  ${few} models: construction ${tenth.construction.toFixed(2)} s, synth ${tenth.synth.toFixed(2)} s`);
  console.log(
    `cdk8s App:   construction ${theirs.construction.toFixed(2)} s, synth ${theirs.synth.toFixed(2)} s (a file per chart, no checks)`,
  );
  console.log(`writing the same files alone:                ${writing.toFixed(2)} s`);
  check("construction and synth, against cdk8s' own", ours.both / theirs.both, GREATEST_RATIO_TO_STOCK);
  check('synth, against writing the same files alone', ratio, GREATEST_RATIO_TO_WRITING);
  check(`time per model, of ${models} against of ${few}`, ours.both / models / (tenth.both / few), GREATEST_GROWTH_PER_MODEL);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
