import { EXAMPLES, synthesizeExamples } from '../helpers/all-examples';
import { otherNode } from '../helpers/other-node';
import { filesUnder, temporaryFolders } from '../helpers/temporary-folder';

const newFolder = temporaryFolders();

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

  it('give the same bytes when every construct was created in another order', async () => {
    const outdir = newFolder();
    await synthesizeExamples(outdir, { reversed: true });
    expect(filesUnder(outdir)).toEqual(await synthesized);
  });

  it('give the same bytes on another Node version', async () => {
    const node = otherNode();
    if (node === undefined) return;
    const outdir = newFolder();
    await synthesizeExamples(outdir, { node });
    expect(filesUnder(outdir)).toEqual(await synthesized);
  });
});
