import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { newestVersion } from '../../../src/catalog';
import { KvasirError } from '../../../src/errors';
import { choosePool } from '../init/choose-pool';
import { projectFiles } from '../init/project-files';
import { processOutput } from '../output';
import { packageVersion } from '../package-version';

interface InitFlags {
  readonly model: string;
  readonly dir: string;
  readonly json?: true;
}

/** A model that one GPU of a common size serves. */
const DEFAULT_MODEL = 'Qwen/Qwen3-8B';

/** `kvasir init`: a new project, ready to be installed, tested and synthesized. */
export function addInitCommand(program: Command): void {
  program
    .command('init')
    .description('make a project: a stack of a platform and one model, its test, settings and a GitOps workflow')
    .option('--model <name>', 'hub name of the model', DEFAULT_MODEL)
    .option('--dir <folder>', 'where the project goes; must be empty or not there', '.')
    .option('--json', 'print one JSON document')
    .action(runInit);
}

function runInit({ model, dir, json }: InitFlags): void {
  const output = processOutput({ json: json === true });
  requireModelName(model);
  requireEmpty(dir);
  const pool = choosePool(model);
  if (pool === undefined) {
    throw new KvasirError({
      code: 'init/too-large',
      field: '--model',
      message: `${model} fits on no single node of the catalogue`,
      remedy: 'take a smaller model here, and give its pool podsPerReplica afterwards',
    });
  }
  const files = projectFiles({
    name: packageName(dir),
    model,
    servedName: servedNameOf(model),
    engineVersion: newestVersion('vllm'),
    pool,
    version: packageVersion(),
  });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  for (const path of Object.keys(files)) output.line(join(dir, path));
  if (!pool.isModelKnown) output.line(`the sizes of ${model} are not known: choose its GPUs in main.ts yourself`);
  output.line(
    `${model} on ${pool.gpus} × ${pool.accelerator}. Next: ${dir === '.' ? '' : `cd ${dir} && `}npm install && npm test && npm run synth`,
  );
  output.document({ model, ...pool, files: Object.keys(files) });
}

/** The name goes into a program's text, so nothing but a hub's own letters may be in it. */
function requireModelName(model: string): void {
  if (/^[\w.-]+(\/[\w.-]+)?$/.test(model)) return;
  throw new KvasirError({
    code: 'init/model',
    field: '--model',
    message: `${JSON.stringify(model)} is no hub name`,
    remedy: `write it as ${DEFAULT_MODEL}`,
  });
}

function requireEmpty(dir: string): void {
  const stat = statSync(dir, { throwIfNoEntry: false });
  if (stat === undefined) return;
  // A repository that was just made is empty to its owner.
  const first = stat.isDirectory() ? readdirSync(dir).find((name) => name !== '.git') : dir;
  if (first === undefined) return;
  throw new KvasirError({
    code: 'init/not-empty',
    file: dir,
    field: '--dir',
    message: stat.isDirectory() ? `holds ${first} already` : 'is a file',
    remedy: 'give a folder that is empty or not there',
  });
}

function packageName(dir: string): string {
  const name = basename(resolve(dir))
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'models' : name;
}

/** The model's own name as a Service could carry it. */
function servedNameOf(model: string): string {
  const name = model
    .split('/')
    .at(-1)!
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '');
  return (/^[a-z]/.test(name) ? name : `m-${name}`).slice(0, 40).replace(/-+$/, '');
}
