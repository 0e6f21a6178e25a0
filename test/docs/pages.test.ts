import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXAMPLES } from '../helpers/all-examples';

const folder = join(__dirname, '../../docs');
const pages = readdirSync(folder).filter((name) => name.endsWith('.md'));
const textOf = (page: string): string => readFileSync(join(folder, page), 'utf8');
/** Targets of the links of a page that are no URLs. */
const linksOf = (page: string): readonly string[] =>
  [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!).filter((target) => !/^[a-z]+:/.test(target));

describe('docs/', () => {
  it('has an index with every page once', () => {
    const listed = linksOf('README.md').filter((target) => !target.startsWith('../'));
    const wanted = [...pages.filter((page) => page !== 'README.md'), 'constructs/README.md'];
    expect([...listed].sort()).toEqual(wanted.sort());
  });

  it('has every example in the index once', () => {
    const listed = linksOf('README.md').filter((target) => target.startsWith('../examples/'));
    expect([...listed].sort()).toEqual(EXAMPLES.map((name) => `../examples/${name}/main.ts`));
  });
});
