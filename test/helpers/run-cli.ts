import { main } from '../../runtime/cli/main';

/** What a run of the command left. */
export interface CliRun {
  readonly code: number;
  /** Lines on standard error. */
  readonly lines: readonly string[];
  /** All of standard output. */
  readonly stdout: string;
}

/** Runs the `kvasir` command in this process, its streams caught. */
export async function runCli(...argv: readonly string[]): Promise<CliRun> {
  let [stdout, stderr] = ['', ''];
  const out = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  const err = jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
  try {
    const code = await main(argv);
    return { code, lines: stderr.split('\n').filter((line) => line !== ''), stdout };
  } finally {
    out.mockRestore();
    err.mockRestore();
  }
}
