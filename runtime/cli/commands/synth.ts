import type { Command } from 'commander';
import type { SynthReport } from '../../../src/synth-report';
import type { ExitStatus } from '../exit-status';
import { processOutput } from '../output';
import { reportLine } from '../report-line';
import { stackProgram } from '../synth/stack-program';
import { synthStack } from '../synth/synth-stack';

interface SynthFlags {
  readonly app?: string;
  readonly output?: string;
  readonly json?: true;
}

/** `kvasir synth`: runs the user's stack and swaps its output in. */
export function addSynthCommand(program: Command, interrupted: AbortSignal, exit: ExitStatus): void {
  program
    .command('synth')
    .description('run the stack of this folder and write its manifests; when anything fails, the output folder stays as it is')
    .option('--app <command>', 'how the stack is run (default: app of cdk8s.yaml)')
    .option('--output <folder>', 'output folder (default: CDK8S_OUTDIR, then output of cdk8s.yaml, then dist)')
    .option('--json', 'print one JSON document')
    .action((flags: SynthFlags) => runSynth(flags, interrupted, exit));
}

async function runSynth(flags: SynthFlags, interrupted: AbortSignal, exit: ExitStatus): Promise<void> {
  const output = processOutput({ json: flags.json === true });
  const program = stackProgram(process.cwd(), flags, process.env);
  const outcome = await synthStack(process.cwd(), program, interrupted);
  for (const line of outcome.said) output.line(line);
  for (const finding of outcome.apps.flatMap(({ findings }) => findings)) output.line(reportLine(finding));
  if (outcome.kind === 'failed') {
    output.line(reportLine(outcome.why.finding));
    exit.code = 1;
  } else {
    const { written, removed } = outcome.changes;
    for (const app of outcome.apps) output.line(appLine(app));
    output.line(`${program.output}: files: ${written.length} written, ${removed.length} removed`);
  }
  output.document({
    output: program.output,
    succeeded: outcome.kind === 'written',
    ...(outcome.kind === 'written' ? outcome.changes : { written: [], removed: [] }),
    apps: outcome.apps,
  });
}

function appLine({ folder, written, removed, unchanged, acknowledged }: SynthReport): string {
  const known = acknowledged === 0 ? '' : `, ${acknowledged} findings acknowledged`;
  return `${folder === '.' ? 'app' : folder}: objects: ${written.length} written, ${removed.length} removed, ${unchanged} unchanged${known}`;
}
