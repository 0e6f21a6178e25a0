import { EXAMPLES, synthesizeExamples } from '../helpers/all-examples';
import { filesUnder, temporaryFolders } from '../helpers/temporary-folder';

const newFolder = temporaryFolders();
const OTHER_NODE = 'KVASIR_OTHER_NODE';

describe('two syntheses of all examples', () => {
  const synthesized = (async () => {
    const outdir = newFolder();
    await synthesizeExamples(outdir);
    return filesUnder(outdir);
  })();

  it('are of every folder of examples/', async () => {
    const folders = new Set(Object.keys(await synthesized).map((path) => path.split('/')[0]));
    expect([...folders].sort()).toEqual(EXAMPLES);
  });

  it('give the same bytes, whatever ran before in the process', async () => {
    const outdir = newFolder();
    await synthesizeExamples(outdir, { names: [...EXAMPLES].reverse() });
    expect(filesUnder(outdir)).toEqual(await synthesized);
  });

  it(`give the same bytes under the Node program that ${OTHER_NODE} names`, async () => {
    const node = process.env[OTHER_NODE];
    if (node === undefined) {
      process.stderr.write(`skipped: set ${OTHER_NODE} to the path of another Node program to compare with it\n`);
      return;
    }
    const outdir = newFolder();
    await synthesizeExamples(outdir, { node });
    expect(filesUnder(outdir)).toEqual(await synthesized);
  });
});
