import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { choosePool, poolFor } from '../../../runtime/cli/init/choose-pool';
import { DEFAULT_MODEL_SHAPE, MODEL_SHAPES } from '../../../src/catalog';
import { runCli } from '../../helpers/run-cli';
import { RUN_MAIN } from '../../helpers/stack-project';
import { filesUnder, temporaryFolders } from '../../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();
const start = process.cwd();

describe('kvasir init', () => {
  afterEach(() => process.chdir(start));

  it('makes a project whose stack synthesizes without an error, and whose output is valid', async () => {
    const folder = join(temporaryFolder(), 'my platform');
    const { code, lines } = await runCli('init', '--dir', folder);
    expect(code).toBe(0);
    expect(lines.at(-1)).toMatch(/^Qwen\/Qwen3-8B on 1 × .*npm install && npm test && npm run synth$/);
    expect(Object.keys(filesUnder(folder))).toEqual([
      '.github/workflows/manifests.yml',
      '.gitignore',
      'cdk8s.yaml',
      'jest.config.js',
      'main.test.ts',
      'main.ts',
      'package.json',
      'tsconfig.json',
    ]);
    symlinkSync(join(start, 'node_modules'), join(folder, 'node_modules'));
    process.chdir(folder);
    const synth = await runCli('synth', '--app', RUN_MAIN);
    expect(synth.lines.filter((line) => /^(error|warning)/.test(line))).toEqual([]);
    expect(synth.code).toBe(0);
    const validate = await runCli('validate', '--strict', 'dist');
    expect(validate.lines).toEqual([expect.stringMatching(/ 0 errors, 0 warnings$/)]);
    expect(validate.code).toBe(0);
  });

  it('names package, objects and model as they can be named', async () => {
    const folder = join(temporaryFolder(), 'LLM Platform_2');
    const { stdout } = await runCli('init', '--dir', folder, '--model', 'deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ model: 'deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B', isModelKnown: true });
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      name: 'llm-platform-2',
      private: true,
    });
    const main = readFileSync(join(folder, 'main.ts'), 'utf8');
    expect(main).toContain("new ModelBooster(models, 'deepseek-r1-distill-qwen-1-5b'");
    expect(main).toContain("ModelSource.huggingFace('deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B')");
  });

  it('says so when it does not know the size of a model', async () => {
    const { code, lines } = await runCli('init', '--dir', join(temporaryFolder(), 'p'), '--model', 'someone/own-model');
    expect(code).toBe(0);
    expect(lines).toContain('the sizes of someone/own-model are not known: choose its GPUs in main.ts yourself');
  });

  it('writes into a repository that was just made, and refuses any other folder that holds something', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, '.git'));
    expect((await runCli('init', '--dir', folder)).code).toBe(0);
    const files = filesUnder(folder);
    const { code, lines } = await runCli('init', '--dir', folder);
    expect(code).toBe(1);
    expect(lines).toEqual([
      expect.stringMatching(/--dir: holds .* already; give a folder that is empty or not there \[init\/not-empty\]$/),
    ]);
    expect(filesUnder(folder)).toEqual(files);
  });

  it.each([
    ['a name that would be code', ["x'); process.exit(); ('"], /--model: .* is no hub name.*\[init\/model\]/],
    ['an empty name', [''], /\[init\/model\]/],
  ])('refuses %s in one line and writes nothing', async (_, [model], line) => {
    const folder = temporaryFolder();
    const { code, lines } = await runCli('init', '--dir', folder, '--model', model!);
    expect(code).toBe(1);
    expect(lines).toEqual([expect.stringMatching(line)]);
    expect(filesUnder(folder)).toEqual({});
  });

  it('refuses a file where the folder should be', async () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    expect((await runCli('init', '--dir', file)).lines).toEqual([expect.stringMatching(/is a file.*\[init\/not-empty\]$/)]);
  });
});

describe('the pool of a new project', () => {
  it.each(MODEL_SHAPES.map(({ name }) => name))('of %s is one node or none, with a context that fits', (name) => {
    const pool = choosePool(name);
    if (pool === undefined) return;
    expect([1, 2, 4, 8]).toContain(pool.gpus);
    expect(pool.maxModelLen).toBeGreaterThanOrEqual(1024);
    expect(pool.maxModelLen % 1024).toBe(0);
  });

  it('is none for a model that no node of the catalogue holds', () => {
    expect(poolFor({ ...DEFAULT_MODEL_SHAPE, parameters: 10e12 })).toBeUndefined();
  });

  it('takes no GPU without FP8 for a model in FP8, and does not split a model that fits on one', () => {
    expect(choosePool('Qwen/Qwen3-8B')!.gpus).toBe(1);
    expect(choosePool('deepseek-ai/DeepSeek-V3')?.accelerator).not.toMatch(/A100|V100|T4/);
  });
});
