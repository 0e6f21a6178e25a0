import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');
/** First words of literals with a slash that are no codes: API groups, media types, image repositories, this package's own name. */
const NO_CODE = /^(?:apps|batch|policy|application|text|vllm|lmsysorg|lmcache|ascend|openai|kvasir)\/|\/(?:status|scale)$/;
const LITERAL = /['"`]([a-z]+(?:-[a-z0-9]+)*\/[a-z0-9]+(?:-[a-z0-9]+)*)['"`]/g;

function filesUnder(folder: string, extension: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(extension))
    .map((path) => join(root, folder, path));
}

/** Code lines only: imports and comments name files. */
function codesIn(path: string): string[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  const text = lines.filter((line) => !/^\s*(?:import\b|export\b.* from\b|\*|\/\/|\/\*\*)| from '/.test(line)).join('\n');
  return [...text.matchAll(LITERAL)].map(([, code]) => code!).filter((code) => !NO_CODE.test(code));
}

const sources = ['src', 'constructs', 'runtime']
  .flatMap((folder) => filesUnder(folder, '.ts'))
  .filter((path) => !/flags-[\w-]+\.ts$/.test(path));
const inSources = [...new Set(sources.flatMap(codesIn))].sort();
const rows = [
  ...readFileSync(join(root, 'docs/findings.md'), 'utf8').matchAll(/^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm),
].map(([, code, severity, meaning, remedy]) => ({ code: code!, severity: severity!, meaning: meaning!, remedy: remedy! }));

describe('docs/findings.md', () => {
  it('lists every code of the sources once, and no other', () => {
    const listed = rows.map(({ code }) => code).sort();
    expect(inSources.length).toBeGreaterThan(150);
    expect(listed).toEqual(inSources);
  });

  it.each(rows)('gives $code severities, a meaning and a remedy', ({ severity, meaning, remedy }) => {
    expect(severity.split(', ').every((word) => ['error', 'warning', 'info'].includes(word))).toBe(true);
    expect(meaning.trim().length).toBeGreaterThan(5);
    expect(remedy.trim().length).toBeGreaterThan(2);
  });

  it('has a test for each code of the checks over objects', () => {
    const tests = filesUnder('test', '.ts')
      .filter((path) => path !== __filename)
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n');
    const checked = [...new Set(filesUnder('src/checks', '.ts').flatMap(codesIn))];
    expect(checked.length).toBeGreaterThan(25);
    expect(checked.filter((code) => !tests.includes(code))).toEqual([]);
  });
});
