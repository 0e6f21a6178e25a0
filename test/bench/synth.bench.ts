/**
 * Synthesis of many models: `GitOpsApp` against cdk8s' own `App` with a file per chart, the same stack in the same process, one chart
 * per model; against writing the same files alone; and a tenth as many models against all of them. Prints all times and ratios, and fails
 * when the first ratio is above a third, the second above four, or the time per model grows by more than half.
 *
 * Synthesis and writing alone take turns, each into a fresh folder on a file system that was flushed before, and what is compared are the
 * medians of all rounds, until the files are on the disk: files that only are in the page cache are written later, at the cost of whoever
 * comes next. The time without that flush, and the processor time, stand beside it.
 *
 *     npx tsx test/bench/synth.bench.ts [models, 1000 unless said]
 */
import { spawnSync } from 'node:child_process';
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
import { median } from './rig/cpu-rounds';

const GREATEST_RATIO_TO_STOCK = 1 / 3;
const GREATEST_RATIO_TO_WRITING = 4;
const GREATEST_GROWTH_PER_MODEL = 1.5;
const ROUNDS = 5;
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

/** What some work took, in seconds. */
interface Seconds {
  /** Until it returned. */
  readonly cached: number;
  /** Until its files were on the disk. */
  readonly flushed: number;
  /** Of all processor cores, in this process. */
  readonly processor: number;
}

function measure(work: () => void): Seconds {
  flush();
  const processorBefore = process.cpuUsage();
  const start = performance.now();
  work();
  const cached = performance.now() - start;
  const { user, system } = process.cpuUsage(processorBefore);
  flush();
  return { cached: cached / 1000, flushed: (performance.now() - start) / 1000, processor: (user + system) / 1e6 };
}

/** Waits until what is written is on the disk. Where there is no `sync`, times end in the page cache. */
function flush(): void {
  spawnSync('sync', ['-f', folder]);
}

/** Of construction and of synth. */
interface Run {
  readonly construction: Seconds;
  readonly synth: Seconds;
}

function run(make: () => App, count: number): Run {
  let app: App | undefined;
  const construction = measure(() => {
    app = make();
    addModels(app, count);
  });
  return { construction, synth: measure(() => app!.synth()) };
}

/** Seconds of construction and synth until they returned: none of it is waiting for the disk to settle. */
const both = ({ construction, synth }: Run): number => construction.cached + synth.cached;

/** Of each kind of time its own median. */
function medians(times: readonly Seconds[]): Seconds {
  return {
    cached: median(times.map(({ cached }) => cached)),
    flushed: median(times.map(({ flushed }) => flushed)),
    processor: median(times.map(({ processor }) => processor)),
  };
}

const text = ({ cached, flushed, processor }: Seconds): string =>
  `${cached.toFixed(2)} s, ${flushed.toFixed(2)} s until on the disk, ${processor.toFixed(2)} s of processor time`;

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
  run(gitOps('warm'), models);
  run(stock('warm-stock'), 20);
  const files = filesUnder(join(folder, 'warm'));
  const rounds = Array.from({ length: ROUNDS }, (_, round) => {
    const writeAlone = (): Seconds => measure(() => write(join(folder, `alone-${round}`), files));
    // By turns, so that neither always meets what the other left behind.
    const before = round % 2 === 0 ? undefined : writeAlone();
    const many = run(gitOps(`ours-${round}`), models);
    return { many, writing: before ?? writeAlone(), fewer: run(gitOps(`few-${round}`), few) };
  });
  const again = run(gitOps('ours-0'), models);
  const theirs = run(stock('theirs'), models);

  const synth = medians(rounds.map(({ many }) => many.synth));
  const writing = medians(rounds.map(({ writing: alone }) => alone));
  const whole = median(rounds.map(({ many }) => both(many)));
  const wholeFew = median(rounds.map(({ fewer }) => both(fewer)));
  console.log(`${models} mixed models, ${Object.keys(files).length} files, medians of ${ROUNDS} rounds`);
  console.log(`GitOpsApp construction: ${text(medians(rounds.map(({ many }) => many.construction)))}`);
  console.log(`GitOpsApp synth:        ${text(synth)}`);
  console.log(`  over the same folder: ${text(again.synth)}`);
  console.log(`  of ${few} models:      ${text(medians(rounds.map(({ fewer }) => fewer.synth)))}`);
  console.log(`writing files alone:    ${text(writing)}`);
  console.log(`cdk8s App synth:        ${text(theirs.synth)} (a file per chart, no checks)`);
  console.log(`synth, against writing the same files alone, into the page cache: ${(synth.cached / writing.cached).toFixed(2)}`);
  check("construction and synth, against cdk8s' own", whole / both(theirs), GREATEST_RATIO_TO_STOCK);
  check('synth, against writing the same files alone', synth.flushed / writing.flushed, GREATEST_RATIO_TO_WRITING);
  check(`time per model, of ${models} against of ${few}`, whole / models / (wholeFew / few), GREATEST_GROWTH_PER_MODEL);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
