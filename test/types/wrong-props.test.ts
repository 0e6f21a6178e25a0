import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declarePackage } from '../helpers/declared-package';
import { temporaryFolders } from '../helpers/temporary-folder';
import { typeCheck } from '../helpers/type-check';

const root = join(__dirname, '../..');
const temporaryFolder = temporaryFolders();
const lines = readFileSync(join(__dirname, 'stack.ts'), 'utf8').split('\n');

interface Mistake {
  /** The wrong line, from 1. */
  readonly line: number;
  readonly wrong: string;
  readonly code: string;
  /** Part of what the compiler says. */
  readonly message: string;
}

const mistakes = lines.flatMap((text, index): readonly Mistake[] => {
  const expected = /^\/\/ @ts-expect-error (TS\d+): (.+)$/.exec(text);
  if (expected === null) return [];
  return [{ line: index + 2, wrong: lines[index + 1]!, code: expected[1]!, message: expected[2]! }];
});

const project = temporaryFolder();
declarePackage(project);

/** What the compiler says of `code`, as a stack against the installed package. A report's further lines are joined to its first. */
function reportsOf(code: string): readonly { readonly line: number; readonly text: string }[] {
  writeFileSync(join(project, 'stack.ts'), code);
  const printed = typeCheck(project, {
    target: 'ES2022',
    lib: ['es2022'],
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    skipLibCheck: true,
  });
  return printed
    .join('\n')
    .split(/\n(?=\S)/)
    .filter((report) => report !== '')
    .map((report) => {
      const at = /^stack\.ts\((\d+),\d+\): error (.*)$/s.exec(report);
      return at === null ? { line: 0, text: report } : { line: Number(at[1]), text: at[2]! };
    });
}

describe('the build of a stack', () => {
  const withoutMarks = lines.map((text) => text.replace('// @ts-expect-error', '// wrong:'));
  const reports = reportsOf(withoutMarks.join('\n'));

  it.each(mistakes)('reports $wrong', ({ line, code, message }) => {
    const texts = reports.filter((report) => report.line === line).map(({ text }) => text);
    expect(texts).toHaveLength(1);
    expect(texts[0]).toMatch(new RegExp(`^${code}: `));
    expect(texts[0]).toContain(message);
  });

  it('reports the mistakes, ten and more, and nothing that is right', () => {
    expect(mistakes.length).toBeGreaterThanOrEqual(10);
    expect(reports.map(({ line }) => line)).toEqual(mistakes.map(({ line }) => line));
  });

  it('reports nothing in a stack without them', () => {
    const wrong = new Set(mistakes.map(({ line }) => line));
    const right = lines.filter((_, index) => !wrong.has(index + 1) && !wrong.has(index + 2));
    expect(reportsOf(right.join('\n'))).toEqual([]);
  });
});
