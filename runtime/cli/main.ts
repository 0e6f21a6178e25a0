import { Command, CommanderError } from 'commander';
import { KvasirError } from '../../src/errors';
import { autoscalerMain } from '../autoscaler/main';
import { onShutdownSignal } from '../lib/shutdown';
import { routerMain } from '../router/main';
import { addCostCommand } from './commands/cost';
import { addDemoCommand } from './commands/demo';
import { addDiffCommand } from './commands/diff';
import { addExplainCommand } from './commands/explain';
import { addGetCommand } from './commands/get';
import { addInitCommand } from './commands/init';
import { addMigrateCommand } from './commands/migrate';
import { addPreviewCommand } from './commands/preview';
import { addReplayCommand } from './commands/replay';
import { addSimulateCommand } from './commands/simulate-autoscaling';
import { addStatusCommand } from './commands/status';
import { addSynthCommand } from './commands/synth';
import { addValidateCommand } from './commands/validate';
import { ExitStatus } from './exit-status';
import { packageVersion } from './package-version';
import { reportLine } from './report-line';

/** Exit status after a second Ctrl-C, as shells give it. */
const INTERRUPTED = 130;

/**
 * The `kvasir` command.
 *
 * @param argv arguments after the program's name.
 * @returns the exit status: 0 when it did what was asked, 1 when it could not, 2 for a wrong command line. `diff` has its own.
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
  const exit = new ExitStatus();
  const program = createProgram(interrupt.signal, exit);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exit.code;
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

/** All commands, as the documentation lists them. */
export function createProgram(interrupted: AbortSignal, exit: ExitStatus): Command {
  const program = new Command('kvasir')
    .description('Large language models on Kubernetes: typed manifests, a router, an autoscaler, and all of it on a laptop.')
    .version(packageVersion(), '--version', 'print the version of this package')
    .exitOverride()
    // Standard output is for documents; an error is one line.
    .configureOutput({
      writeOut: (text) => process.stderr.write(text),
      outputError: (text, write) => write(`${text.trim().replace(/\s*\n\s*/g, ' ')}\n`),
    });
  addInitCommand(program);
  addSynthCommand(program, interrupted, exit);
  addValidateCommand(program, exit);
  addDiffCommand(program, exit);
  addCostCommand(program);
  addMigrateCommand(program);
  addPreviewCommand(program, interrupted);
  addDemoCommand(program, interrupted);
  addReplayCommand(program, exit);
  addSimulateCommand(program);
  addGetCommand(program);
  addStatusCommand(program, exit);
  addExplainCommand(program);
  program.command('router').description('the router alone (kvasir router --help)').helpOption(false);
  program.command('autoscaler').description('the autoscaler alone (kvasir autoscaler --help)').helpOption(false);
  return program;
}
