import type { Command } from 'commander';
import type { ExitStatus } from '../exit-status';
import { readFolders } from '../manifests/read-folders';
import { processOutput } from '../output';
import { reportLine } from '../report-line';
import { validateManifests } from '../validate/validate-manifests';

interface ValidateFlags {
  readonly strict?: true;
  readonly json?: true;
}

/** `kvasir validate`: what is wrong with manifests that somebody wrote. */
export function addValidateCommand(program: Command, exit: ExitStatus): void {
  program
    .command('validate')
    .description('check manifests, whoever wrote them: each object, and all of them together')
    .argument('<folder|files...>', 'manifests: folders are read with everything in them')
    .option('--strict', 'fail on warnings too')
    .option('--json', 'print one JSON document')
    .action((paths: string[], flags: ValidateFlags) => runValidate(paths, flags, exit));
}

async function runValidate(paths: readonly string[], { strict, json }: ValidateFlags, exit: ExitStatus): Promise<void> {
  const output = processOutput({ json: json === true });
  const set = await readFolders(paths);
  const { open: findings, acknowledged } = validateManifests(set);
  const count = (severity: string): number => findings.filter((finding) => finding.severity === severity).length;
  const [errors, warnings] = [count('error'), count('warning')];
  for (const finding of findings) output.line(reportLine(finding));
  const known = acknowledged.length === 0 ? '' : `, ${acknowledged.length} findings acknowledged`;
  output.line(`${set.objects.length} objects, ${errors} errors, ${warnings} warnings${known}`);
  output.document({ objects: set.objects.length, errors, warnings, findings, acknowledged });
  if (errors > 0 || (strict === true && warnings > 0)) exit.code = 1;
}
