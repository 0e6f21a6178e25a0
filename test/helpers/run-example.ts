import { filesUnder } from './temporary-folder';

/**
 * Runs the program of an example as its user does, with output in `outdir`.
 *
 * @returns the files that it wrote, by path.
 */
export function runExample(name: string, outdir: string): Readonly<Record<string, string>> {
  const saved = process.env.CDK8S_OUTDIR;
  process.env.CDK8S_OUTDIR = outdir;
  try {
    jest.isolateModules(() => {
      jest.requireActual(`../../examples/${name}/main`);
    });
  } finally {
    if (saved === undefined) delete process.env.CDK8S_OUTDIR;
    else process.env.CDK8S_OUTDIR = saved;
  }
  return filesUnder(outdir);
}
