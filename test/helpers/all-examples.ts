import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');

/** Names of all examples, which are their folders. */
export const EXAMPLES: readonly string[] = readdirSync(join(root, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

/** How examples are synthesized. */
export interface SynthesisOptions {
  /** Examples, in the order in which they run. @default all */
  readonly names?: readonly string[];
  /** The Node program that runs them. @default the one that runs this */
  readonly node?: string;
  /** Whether constructs are as if they had been created the other way round. @default false */
  readonly reversed?: boolean;
  /** Root of the sources. @default this checkout */
  readonly sources?: string;
}

/**
 * Runs examples in a process of their own, with output in `outdir`.
 *
 * @returns all that it wrote to standard error.
 * @throws Error with that when it fails.
 */
export async function synthesizeExamples(
  outdir: string,
  { names = EXAMPLES, node = process.execPath, reversed = false, sources = root }: SynthesisOptions = {},
): Promise<string> {
  const program = join(sources, 'test/helpers/run-examples.ts');
  const child = spawn(node, ['--import', 'tsx', program, ...(reversed ? ['--reversed'] : []), ...names], {
    cwd: sources,
    env: { ...process.env, CDK8S_OUTDIR: outdir, TSX_TSCONFIG_PATH: join(sources, 'tsconfig.test.json') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    stderr += part;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`the examples ended with ${code} under ${node}: ${stderr}`);
  return stderr;
}
