import { spawn } from 'node:child_process';
import { KvasirError } from '../../src/errors';

/**
 * Runs a user's stack in a process of its own, so that nothing of it reaches this one, and waits for it.
 *
 * @param program the stack's compiled entry file.
 * @param outputFolder where it synthesizes to (`CDK8S_OUTDIR`).
 * @throws KvasirError `cli/synth-failed` with what the stack wrote.
 */
export async function runStack(program: string, outputFolder: string): Promise<void> {
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, CDK8S_OUTDIR: outputFolder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout.on('data', (bytes: Buffer) => {
    text += bytes.toString();
  });
  child.stderr.on('data', (bytes: Buffer) => {
    text += bytes.toString();
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code === 0) return;
  throw new KvasirError({
    code: 'cli/synth-failed',
    file: program,
    message: `the stack ended with ${code ?? 'a signal'}: ${text.trim()}`,
    remedy: 'mend what it names and run it again',
  });
}
