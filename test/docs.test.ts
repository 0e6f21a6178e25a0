import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as kvasir from '../constructs/index';
import { temporaryFolders } from './helpers/temporary-folder';
import { typeCheck } from './helpers/type-check';

const root = join(__dirname, '..');
const temporaryFolder = temporaryFolders();
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`),
];

/** Where `kvasir` and its parts lie in the repository, as for the tests. */
const { paths } = (JSON.parse(readFileSync(join(root, 'tsconfig.test.json'), 'utf8')) as TestProject).compilerOptions;
const OWN_PATHS = Object.fromEntries(Object.entries(paths).map(([name, [path]]) => [name, [join(root, path)]]));

interface TestProject {
  readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly [string]>> };
}

interface Block {
  readonly page: string;
  /** Line of the block's first line of code, from 1. */
  readonly line: number;
  readonly code: string;
}

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => ({
    page,
    line: text.slice(0, match.index).split('\n').length + 1,
    code: match[1]!,
  }));
}

/** A block that imports nothing is a piece of a stack that has imported everything. */
function moduleOf({ code }: Block): string {
  const imports = /^import /m.test(code)
    ? ''
    : `import { Chart, JsonPatch } from 'cdk8s'; import { ${Object.keys(kvasir).join(', ')} } from 'kvasir';`;
  return `${imports}\n${code}\nexport {};\n`;
}

/** What pieces of code in the pages take as given: the app, its charts and one model. */
const GIVEN = `
import { Chart } from 'cdk8s';
import { GitOpsApp, ModelBooster } from 'kvasir';
declare global {
  const app: GitOpsApp;
  const system: Chart;
  const models: Chart;
  const qwen: ModelBooster<'h100'>;
}
`;

describe('the code in the pages', () => {
  const blocks = pages.flatMap(blocksOf);
  const problemsOf = (chosen: readonly Block[]): string[] => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'given.ts'), GIVEN);
    chosen.forEach((block, index) => {
      writeFileSync(join(folder, `block-${index}.ts`), moduleOf(block));
    });
    const problems = typeCheck(folder, {
      module: 'node20',
      target: 'ES2022',
      lib: ['es2023'],
      types: ['node', 'jest'],
      typeRoots: [join(root, 'node_modules/@types')],
      skipLibCheck: true,
      paths: { ...OWN_PATHS, '*': [join(root, 'node_modules/*')] },
    });
    // What is wrong in the sources themselves is the type check's matter.
    const inBlocks = problems.filter((line) => !line.startsWith('../') && !line.startsWith(' '));
    return inBlocks.map((problem) =>
      problem.replace(/^block-(\d+)\.ts\((\d+),(\d+)\)/, (_whole, index, line) => {
        const block = chosen[Number(index)]!;
        return `${block.page}:${block.line + Number(line) - 2}`;
      }),
    );
  };

  it('compiles, each block alone', () => {
    expect(blocks.length).toBeGreaterThanOrEqual(6);
    expect(problemsOf(blocks)).toEqual([]);
  });

  it('would be reported with its page and line if it did not compile', () => {
    const code = "Cluster.of({ kubernetes: '1.31', nodeLabels: NodeLabels.nvidia(), kthena: 'perhaps' });\n";
    expect(problemsOf([{ page: 'docs/page.md', line: 30, code }])).toEqual([
      expect.stringMatching(/^docs\/page\.md:30: error TS2322: .*"perhaps"/),
    ]);
  });
});

describe('the links in the pages', () => {
  it.each(pages)('of %s lead to files of the repository', (page) => {
    const text = readFileSync(join(root, page), 'utf8').replaceAll(/`[^`\n]*`/g, '');
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map((match) => match[1]!);
    const missing = links.filter((link) => !existsSync(join(root, dirname(page), link)));
    expect(missing).toEqual([]);
  });
});
