import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');

/** Names of all examples, which are their folders. */
export const EXAMPLES: readonly string[] = readdirSync(join(root, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

/**
 * Runs the examples `names` in a process of their own, in this order, with output in `outdir`.
 *
 * @param node the Node program that runs it.
 * @returns all that it wrote to standard error.
 * @throws Error with that when it fails.
 */
export async function synthesizeExamples(
  outdir: string,
  { names = EXAMPLES, node = process.execPath }: { readonly names?: readonly string[]; readonly node?: string } = {},
): Promise<string> {
  const child = spawn(node, ['--import', 'tsx', join(__dirname, 'run-examples.ts'), ...names], {
    cwd: root,
    env: { ...process.env, CDK8S_OUTDIR: outdir, TSX_TSCONFIG_PATH: join(root, 'tsconfig.test.json') },
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
