import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUGS, type Coverage, END_TO_END } from './coverage';

const TESTS = join(__dirname, '../../..');

/** Tests and groups of a file, by title. */
const titlesOf = (file: string): ReadonlySet<string> => {
  const path = file.startsWith('/') ? join(TESTS, file) : join(TESTS, 'runtime/router', file);
  const quoted = /[([]\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;
  return new Set([...readFileSync(path, 'utf8').matchAll(quoted)].map(([, a, b, c]) => a ?? b ?? c ?? ''));
};

const ROWS: readonly (readonly [string, Coverage])[] = [...Object.entries(END_TO_END), ...Object.entries(BUGS)];

describe("Kthena's tests and bugs", () => {
  it('are all answered: the 29 end-to-end tests without the Gateway API, and bugs 1 to 43', () => {
    expect(Object.keys(BUGS)).toEqual(Array.from({ length: 43 }, (_, i) => `B${i + 1}`));
    const own = Object.keys(END_TO_END).slice(0, Object.keys(END_TO_END).indexOf('DuplicateModelName (Gateway)'));
    expect(own).toHaveLength(29);
    for (const name of own) expect([name, 'none' in END_TO_END[name]!]).toEqual([name, false]);
  });

  it.each(ROWS)('%s: the tests that are named exist, or a reason is given', (_name, coverage) => {
    if ('none' in coverage) {
      expect(coverage.none).not.toBe('');
      return;
    }
    expect(coverage.length).toBeGreaterThan(0);
    for (const [file, title] of coverage) expect([file, [...titlesOf(file)]]).toEqual([file, expect.arrayContaining([title])]);
  });

  it.each(Object.entries(BUGS))('%s has a test that is named after it, or no effect that a test could see', (name, coverage) => {
    if ('none' in coverage) return;
    const named = coverage.filter(([, title]) => new RegExp(`\\b${name}\\b`).test(title));
    expect(named.length).toBeGreaterThan(0);
  });
});
