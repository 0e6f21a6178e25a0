import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EXAMPLES } from '../helpers/all-examples';
import { examplePodTemplates } from '../helpers/example-pod-templates';
import { temporaryFolders } from '../helpers/temporary-folder';

const root = join(__dirname, '../..');
const goldens = join(root, 'test/fixtures/pod-templates');
const newFolder = temporaryFolders();
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };

/** What an example's program reads: these sources, in the next patch version of the package. */
function nextPatchVersion(): { readonly sources: string; readonly next: string } {
  const sources = newFolder();
  for (const path of ['constructs', 'src', 'examples', 'test/helpers/run-examples.ts', 'tsconfig.json', 'tsconfig.test.json']) {
    mkdirSync(dirname(join(sources, path)), { recursive: true });
    cpSync(join(root, path), join(sources, path), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(sources, 'node_modules'));
  const next = version.replace(/\d+$/, (patch) => String(Number(patch) + 1));
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object;
  writeFileSync(join(sources, 'package.json'), JSON.stringify({ ...manifest, version: next }));
  return { sources, next };
}

/** @throws Error that says where the first difference is and what to do. */
function expectGolden(example: string, made: string): void {
  const kept = readFileSync(join(goldens, `${example}.yaml`), 'utf8');
  if (made === kept) return;
  const [was, is] = [kept.split('\n'), made.split('\n')];
  const line = was.findIndex((text, index) => text !== is[index]);
  throw new Error(
    [
      `the pod templates of ${example} differ from test/fixtures/pod-templates/${example}.yaml, first at line ${line + 1}:`,
      `  was: ${was[line] ?? ''}`,
      `  is:  ${is[line] ?? ''}`,
      'If the example was changed, keep its new templates with `npx tsx test/helpers/write-pod-templates.ts`.',
      'If the constructs were, an upgrade would restart the engines of every user: take it back, or make it a minor release: raise the minor',
      'version in .projenrc.ts unless that is done since the last release, and then keep the new templates in the same way.',
    ].join('\n'),
  );
}

describe('a patch release of this package', () => {
  const { sources, next } = nextPatchVersion();
  const made = examplePodTemplates(newFolder(), { sources });

  it.each(EXAMPLES)('changes no pod template of %s', async (example) => {
    expectGolden(example, (await made)[example]!);
  });

  it('is told from this one by nothing in a pod template', async () => {
    expect(next).not.toBe(version);
    const naming = Object.entries(await made).filter(([, text]) => text.includes(next));
    expect(naming).toEqual([]);
  });
});

describe('the pod templates that are kept', () => {
  it('are those of all examples', () => {
    expect(readdirSync(goldens).sort()).toEqual(EXAMPLES.map((name) => `${name}.yaml`));
  });

  it.each(EXAMPLES)('%s: have engines, and a change of one word is seen', (example) => {
    const kept = readFileSync(join(goldens, `${example}.yaml`), 'utf8');
    expect(kept).toMatch(/^# (Deployment|LeaderWorkerSet|DisaggregatedSet|ModelServing) llm\//m);
    expect(() => expectGolden(example, kept.replace('containers:', 'container:'))).toThrow('make it a minor release');
  });
});
