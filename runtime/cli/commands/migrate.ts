import type { Command } from 'commander';
import { KvasirError } from '../../../src/errors';
import { readFolders } from '../manifests/read-folders';
import { migrate } from '../migrate/migrate';
import { processOutput } from '../output';
import { reportLine } from '../report-line';

interface MigrateFlags {
  readonly json?: true;
}

/** `kvasir migrate`: from manifests to the TypeScript that makes them. */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('print the TypeScript stack that makes the same objects as some manifests')
    .argument('<folder|files...>', 'manifests: folders are read with everything in them')
    .option('--json', 'print one JSON document, with the program in it')
    .action((paths: string[], flags: MigrateFlags) => runMigrate(paths, flags));
}

async function runMigrate(paths: readonly string[], flags: MigrateFlags): Promise<void> {
  const output = processOutput({ json: flags.json === true });
  const set = await readFolders(paths);
  const { program, findings: found, objects } = migrate(set.objects);
  const findings = [...set.findings, ...found];
  for (const finding of findings) output.line(reportLine(finding));
  const isUnreadable = set.findings.some(({ severity }) => severity === 'error');
  if (program === undefined || isUnreadable || objects.length === 0) {
    throw new KvasirError({
      code: 'migrate/invalid-manifests',
      file: paths.join(', '),
      message: objects.length === 0 ? 'there is no object to migrate' : 'not every object can be read',
      remedy: 'mend what is named above, or leave those files out',
    });
  }
  output.document({ program, objects: objects.length, findings });
  if (flags.json !== true) process.stdout.write(program);
}
