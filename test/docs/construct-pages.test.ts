import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import * as cdk8s from 'cdk8s';
import * as kvasir from '../../constructs/index';
import { filesUnder, temporaryFolders } from '../helpers/temporary-folder';

const root = join(__dirname, '../..');
const folder = join(root, 'docs/constructs');
const newFolder = temporaryFolders();
const { 'README.md': index, ...texts } = filesUnder(folder);
const pages = Object.entries(texts).map(([name, text]) => ({ name, text }));
const anchorsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!.toLowerCase().replaceAll(' ', '-'));
/** Code of a stack on a page; other code is marked otherwise. */
const examplesOf = (text: string): readonly string[] => [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!);

describe('docs/constructs/', () => {
  it('is what the docstrings say; `npx tsx test/helpers/write-reference.ts` makes it so', () => {
    const made = newFolder();
    const program = [join(root, 'test/helpers/write-reference.ts'), made];
    execFileSync(process.execPath, ['--import', 'tsx', ...program], { cwd: root, stdio: 'pipe' });
    expect(filesUnder(join(made, 'constructs'))).toEqual(filesUnder(folder));
  }, 60_000);

  it('has an index with every page once', () => {
    const listed = [...index!.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, name]) => name!);
    expect([...listed].sort()).toEqual(pages.map(({ name }) => name));
    expect(pages.length).toBeGreaterThan(35);
  });

  it('has everything that is exported and not only a type, once', () => {
    const headings = pages.flatMap(({ text }) => [...text.matchAll(/^#{1,2} (\w+)$/gm)].map(([, heading]) => heading!));
    const twice = headings.filter((heading, at) => heading !== 'Members' && headings.indexOf(heading) !== at);
    expect(twice).toEqual([]);
    expect(Object.keys(kvasir).filter((name) => !headings.includes(name))).toEqual([]);
  });
});

describe.each(pages)('docs/constructs/$name', ({ name, text }) => {
  it('begins with what it is for, and how it looks in a stack', () => {
    expect(text).toMatch(/^# .+\n\n(?:.+\n\n)?<!-- Made from .* -->\n\n\S/);
    expect(examplesOf(text).length).toBeGreaterThan(0);
  });

  it('tells for each prop its default, or what it is', () => {
    const rows = text.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows.filter((row) => ![5, 6].includes(cellsOf(row).length))).toEqual([]);
    // Bare kinds are described by those who made them.
    if (name === 'kube-objects.md') return;
    const props = tablesOf(text, /Props$|Options$/).map(cellsOf);
    const silent = props.filter(
      ([, , , fallback, description]) => isEmpty(description) && (isEmpty(fallback) || fallback === ' required '),
    );
    expect(silent.map(([, prop]) => prop)).toEqual([]);
  });

  it('links to headings that are there', () => {
    const links = [...text.matchAll(/\]\(([^)#]*)#([^)]+)\)/g)].map(([, file, anchor]) => ({ file: file!, anchor: anchor! }));
    const missing = links.filter(({ file, anchor }) => {
      const target = file === '' ? text : readFileSync(join(folder, file), 'utf8');
      return !anchorsOf(target).includes(anchor);
    });
    expect(missing).toEqual([]);
  });

  it.each(examplesOf(text).map((code) => [code]))('has an example that synthesizes: %s', (code) => {
    expect(errorsOf(code)).toEqual([]);
  });
});

const isEmpty = (cell: string | undefined): boolean => (cell ?? '').trim() === '';

/** Cells with the empty ones at both ends. */
const cellsOf = (row: string): readonly string[] => row.split(/(?<!\\)\|/);

/** Rows of the tables under headings that match. */
function tablesOf(text: string, heading: RegExp): readonly string[] {
  return text
    .split(/^## /m)
    .filter((section) => heading.test(section.split('\n')[0]!))
    .flatMap((section) => section.split('\n').filter((line) => line.startsWith('| `')));
}

/** Runs a piece of a stack in an app with the charts and the model that the pages take as given. */
function errorsOf(code: string): readonly unknown[] {
  const outdir = newFolder();
  mkdirSync(outdir, { recursive: true });
  const saved = process.env.CDK8S_OUTDIR;
  const silent = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  process.env.CDK8S_OUTDIR = outdir;
  try {
    const { Accelerator, Cluster, Engine, GitOpsApp, ModelBooster, ModelSource, between, Metric } = kvasir;
    const app = new GitOpsApp({
      cluster: Cluster.of({ kubernetes: '1.31', leaderWorkerSet: true, volcano: true }),
      images: { registry: 'registry.example.com/kvasir', tag: '1' },
    });
    const system = new cdk8s.Chart(app, 'system', { namespace: 'kvasir-system' });
    const models = new cdk8s.Chart(app, 'models', { namespace: 'llm' });
    const qwen = new ModelBooster(models, 'qwen', {
      source: ModelSource.huggingFace('Qwen/Qwen3-8B'),
      engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
      pools: { h100: { accelerator: Accelerator.H100_SXM_80GB, replicas: between(1, 4) } },
      scaleOn: [Metric.runningRequests(24)],
    });
    const given = { ...kvasir, Chart: cdk8s.Chart, app, system, models, qwen };
    const script = transformSync(code, { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } }).code;
    new Function(...Object.keys(given), script)(...Object.values(given));
    return app.check().open.filter(({ severity }) => severity === 'error');
  } finally {
    silent.mockRestore();
    if (saved === undefined) delete process.env.CDK8S_OUTDIR;
    else process.env.CDK8S_OUTDIR = saved;
  }
}
