import { Command, CommanderError } from 'commander';
import { KvasirError } from '../../src/errors';
import { autoscalerMain } from '../autoscaler/main';
import { onShutdownSignal } from '../lib/shutdown';
import { routerMain } from '../router/main';
import { addDemoCommand } from './commands/demo';
import { addPreviewCommand } from './commands/preview';
import { reportLine } from './report-line';

/** Exit status after a second Ctrl-C, as shells give it. */
const INTERRUPTED = 130;

/**
 * The `kvasir` command.
 *
 * @param argv arguments after the program's name.
 * @returns the exit status: 0 when it did what was asked, 1 when it could not, 2 for a wrong command line.
 */
export async function main(argv: readonly string[]): Promise<number> {
  // These are the images' own entry points and parse their command lines themselves.
  if (argv[0] === 'router') return routerMain(argv.slice(1));
  if (argv[0] === 'autoscaler') return autoscalerMain(argv.slice(1));

  const interrupt = new AbortController();
  const stopListening = onShutdownSignal(
    () => interrupt.abort(),
    () => process.exit(INTERRUPTED),
  );
  const program = new Command('kvasir')
    .description('Large language models on Kubernetes: typed manifests, a router, an autoscaler, and all of it on a laptop.')
    .exitOverride()
    // Standard output is for documents.
    .configureOutput({ writeOut: (text) => process.stderr.write(text) });
  addPreviewCommand(program, interrupt.signal);
  addDemoCommand(program, interrupt.signal);
  program.command('router').description('the router alone (kvasir router --help)').helpOption(false);
  program.command('autoscaler').description('the autoscaler alone (kvasir autoscaler --help)').helpOption(false);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof KvasirError) {
      process.stderr.write(`${reportLine(error.finding)}\n`);
      return 1;
    }
    throw error;
  } finally {
    stopListening();
  }
}
