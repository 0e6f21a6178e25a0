import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { formatIndex, INDEX_FILE, readIndex } from '../../../constructs/gitops/folder-index';
import { swapFolder } from '../../../constructs/gitops/folder-swap';
import { filesUnder, temporaryFolders } from '../../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

describe('swapFolder', () => {
  it('refuses to overwrite a file that it did not write, and changes nothing', () => {
    const folder = temporaryFolder();
    write(folder, { 'web/ConfigMap.a.yaml': 'by hand' });
    const files = new Map([
      ['web/ConfigMap.a.yaml', 'a'],
      ['web/ConfigMap.b.yaml', 'b'],
    ]);
    expect(() => swapFolder(folder, files)).toThrow(
      /web\/ConfigMap\.a\.yaml: a file that synth did not write.*\[gitops\/foreign-file\]/,
    );
    expect(filesUnder(folder)).toEqual({ 'web/ConfigMap.a.yaml': 'by hand' });
  });

  it('makes a folder that is not there as a whole, with its index', () => {
    const folder = join(temporaryFolder(), 'clusters/prod');
    const swap = swapFolder(folder, new Map([['web/ConfigMap.a.yaml', 'a']]));
    expect(swap).toEqual({ written: ['web/ConfigMap.a.yaml'], removed: [], unchanged: 0 });
    expect(filesUnder(dirname(folder))).toEqual({
      'prod/web/ConfigMap.a.yaml': 'a',
      [`prod/${INDEX_FILE}`]: formatIndex(['web/ConfigMap.a.yaml']),
    });
  });

  it('takes over a foreign file that already says the same', () => {
    const folder = temporaryFolder();
    write(folder, { 'web/ConfigMap.a.yaml': 'a' });
    expect(swapFolder(folder, new Map([['web/ConfigMap.a.yaml', 'a']])).unchanged).toBe(1);
    expect(readIndex(folder)).toEqual(['web/ConfigMap.a.yaml']);
  });

  it.each([
    ['a folder stands where a file must go', 'web/ConfigMap.a.yaml/x', /gitops\/unreadable/],
    ['a file stands where a folder must go', 'web', /web: cannot be read \(it is no folder\).*gitops\/unreadable/],
    ['a file stands where the folder above one must go', 'outer', /gitops\/unreadable/],
  ])('changes nothing when %s', (_, foreign, message) => {
    const folder = temporaryFolder();
    write(folder, { [foreign]: 'foreign' });
    const files = new Map([
      ['app/ConfigMap.z.yaml', 'z'],
      ['outer/inner/ConfigMap.i.yaml', 'i'],
      ['web/ConfigMap.a.yaml', 'a'],
    ]);
    expect(() => swapFolder(folder, files)).toThrow(message);
    expect(filesUnder(folder)).toEqual({ [foreign]: 'foreign' });
  });

  it('mends the folder after a run that died between two renames', () => {
    const folder = temporaryFolder();
    // As such a run leaves it: an index of old and new, some new files there, an old one not yet removed.
    write(folder, {
      'web/ConfigMap.old.yaml': 'old',
      'web/ConfigMap.new.yaml': 'new',
      [INDEX_FILE]: formatIndex(['web/ConfigMap.old.yaml', 'web/ConfigMap.new.yaml', 'web/ConfigMap.missing.yaml']),
    });
    swapFolder(
      folder,
      new Map([
        ['web/ConfigMap.new.yaml', 'new'],
        ['web/ConfigMap.missing.yaml', 'missing'],
      ]),
    );
    expect(Object.keys(filesUnder(folder))).toEqual([INDEX_FILE, 'web/ConfigMap.missing.yaml', 'web/ConfigMap.new.yaml']);
    expect(readIndex(folder)).toEqual(['web/ConfigMap.missing.yaml', 'web/ConfigMap.new.yaml']);
  });

  it('trusts no line of an index that it could not have written', () => {
    const parent = temporaryFolder();
    const folder = join(parent, 'out');
    const precious = { 'precious.yaml': '1', 'out/.git/config.yaml': '2', 'out/notes.txt': '3', 'out/top.yaml': '4' };
    write(parent, {
      ...precious,
      [`out/${INDEX_FILE}`]: '../precious.yaml\n.git/config.yaml\nnotes.txt\ntop.yaml\n/etc/passwd.yaml\na/../../precious.yaml\n',
    });
    expect(swapFolder(folder, new Map()).removed).toEqual([]);
    expect(filesUnder(parent)).toMatchObject(precious);
  });

  it('ends with exactly the files of the last run beside the foreign ones, whatever ran before', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const run = fc.dictionary(
      fc.tuple(name, name).map(([chart, object]) => `${chart}/ConfigMap.${object}.yaml`),
      fc.constantFrom('1', '2'),
    );
    fc.assert(
      fc.property(fc.array(run, { minLength: 1, maxLength: 5 }), (runs) => {
        const folder = temporaryFolder();
        write(folder, { 'a/foreign.yaml': 'x' });
        for (const files of runs) swapFolder(folder, new Map(Object.entries(files)));
        const { [INDEX_FILE]: index, ...rest } = filesUnder(folder);
        expect(rest).toEqual({ ...runs.at(-1), 'a/foreign.yaml': 'x' });
        expect(index).toBe(formatIndex(Object.keys(runs.at(-1)!)));
        expect(readdirSync(dirname(folder)).filter((entry) => entry.startsWith(`.${folder.split('/').at(-1)}.kvasir-`))).toEqual(
          [],
        );
      }),
      { numRuns: 40 },
    );
  });
});
