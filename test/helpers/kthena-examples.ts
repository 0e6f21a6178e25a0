import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { apiKindOf } from '../../src/api/kinds';

const ROOT = join(__dirname, '../fixtures/kthena-examples');

function yamlFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? yamlFiles(join(folder, entry.name)) : [join(folder, entry.name)]))
    .filter((file) => /\.ya?ml$/.test(file))
    .sort();
}

/** Every object of our kinds in Kthena's examples, with the file that it is in. */
export function kthenaExamples(): readonly { readonly file: string; readonly object: unknown }[] {
  return yamlFiles(ROOT).flatMap((file) =>
    parseAllDocuments(readFileSync(file, 'utf8'), { version: '1.1', merge: true })
      .map((document) => ({ file: relative(ROOT, file), object: document.toJS() as unknown }))
      .filter(({ object }) => apiKindOf(object) !== undefined),
  );
}
