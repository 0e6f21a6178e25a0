import { spawnSync } from 'node:child_process';

/**
 * Runs promtool of Debian's package `prometheus`.
 *
 * @returns exit status and what it printed; undefined when it is not installed, which is said in one line, and is an error under CI.
 */
export function promtool(...args: readonly string[]): { readonly status: number | null; readonly output: string } | undefined {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', timeout: 60_000 });
  if (error === undefined) return { status, output: `${stdout}${stderr}` };
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || process.env.CI !== undefined) throw error;
  process.stderr.write('promtool is not installed (apt-get install prometheus), so the alert rules are not run\n');
  return undefined;
}
