import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { decodeObject } from '../../../src/api/decode-object';
import { apiKindOf } from '../../../src/api/kinds';
import { findingLine } from '../../../src/errors';

const root = join(__dirname, '../../fixtures/kthena-examples');

function yamlFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? yamlFiles(join(folder, entry.name)) : [join(folder, entry.name)]))
    .filter((file) => /\.ya?ml$/.test(file))
    .sort();
}

const objects = yamlFiles(root).flatMap((file) =>
  parseAllDocuments(readFileSync(file, 'utf8'), { version: '1.1', merge: true })
    .map((document) => ({ file: relative(root, file), object: document.toJS() as unknown }))
    .filter(({ object }) => apiKindOf(object) !== undefined),
);

describe("Kthena's examples", () => {
  it('are all here', () => {
    expect(objects).toHaveLength(52);
  });

  it.each(objects.map(({ file, object }, i) => [i, apiKindOf(object), file, object] as const))(
    '%i %s of %s decodes without a finding, and reads as itself',
    (_i, _kind, file, object) => {
      const outcome = decodeObject(object, file);
      expect(outcome.findings.map(findingLine)).toEqual([]);
      expect(outcome.kind === 'valid' && decodeObject(outcome.value)).toEqual(outcome);
    },
  );
});
