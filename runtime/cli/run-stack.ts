import { spawn } from 'node:child_process';
import { KvasirError } from '../../src/errors';
import { SynthVariables } from '../../src/synth-report';

/** How a stack's process ended. */
export interface StackRun {
  /** Null when a signal ended it. */
  readonly code: number | null;
  /** All that it wrote to both of its streams. */
  readonly text: string;
}

/**
 * Runs a user's stack in a process of its own, so that nothing of it reaches this one, and waits for it.
 *
 * @param program the stack's compiled entry file.
 * @param outputFolder where it synthesizes to (`CDK8S_OUTDIR`).
 * @throws KvasirError `cli/synth-failed` with what the stack wrote.
 */
export async function runStack(program: string, outputFolder: string): Promise<void> {
  const { code, text } = await run(process.execPath, [program], { [SynthVariables.outputFolder]: outputFolder });
  if (code === 0) return;
  throw new KvasirError({
    code: 'cli/synth-failed',
    file: program,
    message: `the stack ended with ${code ?? 'a signal'}: ${text.trim()}`,
    remedy: 'mend what it names and run it again',
  });
}

/**
 * Runs the command line of a user's stack in a shell and waits for it. An abort ends it and all that it started.
 *
 * @param variables are added to this process's environment.
 */
export async function runStackCommand(
  command: string,
  folder: string,
  variables: Readonly<Record<string, string>>,
  interrupted: AbortSignal,
): Promise<StackRun> {
  return run('/bin/sh', ['-c', command], variables, { folder, interrupted });
}

async function run(
  program: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
  options: { readonly folder?: string; readonly interrupted?: AbortSignal } = {},
): Promise<StackRun> {
  const { folder, interrupted } = options;
  const child = spawn(program, args, {
    ...(folder === undefined ? {} : { cwd: folder }),
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that an abort reaches what a shell started.
    detached: interrupted !== undefined,
  });
  const stop = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
  };
  interrupted?.addEventListener('abort', stop, { once: true });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    return { code, text };
  } finally {
    interrupted?.removeEventListener('abort', stop);
  }
}
