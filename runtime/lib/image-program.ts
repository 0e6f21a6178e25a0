import { type Command, CommanderError } from 'commander';
import { KvasirError } from '../../src/errors';
import { onShutdownSignal } from './shutdown';

/**
 * Reads an image's command line and runs it.
 *
 * @param argv arguments after the program's name.
 * @returns the exit status: 0 after a shutdown by signal, 1 when nothing could run, 2 for a wrong command line.
 */
export async function runImage<Flags>(
  program: Command,
  argv: readonly string[],
  run: (flags: Flags) => Promise<void>,
): Promise<number> {
  // Standard output is for documents and access logs.
  program.exitOverride().configureOutput({ writeOut: (text) => process.stderr.write(text) });
  try {
    program.parse([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
  try {
    await run(program.opts() as Flags);
    return 0;
  } catch (error) {
    if (error instanceof KvasirError) return complain(error.message, 1);
    throw error;
  }
}

/** Resolves when a signal has ended the program: `end` in peace at the first one, `endNow` at the second. */
export function untilSignal(end: (signal: NodeJS.Signals) => Promise<void>, endNow: () => Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      stop();
      resolve();
    };
    const stop = onShutdownSignal(
      (signal) => void end(signal).then(finish),
      () => void endNow().then(finish),
    );
  });
}

/** Longest delay that a timer can have. */
const LONGEST_MS = 2 ** 31 - 1;

/** Runs a `main.ts` as the process: its status becomes the exit status. */
export function exitWith(status: Promise<number>): void {
  // No timer of a clock keeps a process alive: one that waits for a cluster that is away would end, as if all had been done.
  setInterval(() => undefined, LONGEST_MS);
  status.then(
    (code) => process.exit(code),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    },
  );
}

function complain(line: string, status: number): number {
  process.stderr.write(`${line}\n`);
  return status;
}
