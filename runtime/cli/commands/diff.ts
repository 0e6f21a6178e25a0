import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { KvasirError } from '../../../src/errors';
import type { ManifestSet } from '../../cluster/manifests/manifest-files';
import { diffLines } from '../diff/diff-lines';
import { diffManifests } from '../diff/diff-manifests';
import { readRevision } from '../diff/git-folder';
import type { ExitStatus } from '../exit-status';
import { readFolders } from '../manifests/read-folders';
import { type Output, processOutput } from '../output';
import { reportLine } from '../report-line';

/** Exit status when the two differ; 0 when they do not. */
const DIFFERENT = 1;
/** Exit status when they could not be compared, so that no script takes it for a difference. */
const NOT_COMPARED = 2;

/** `kvasir diff`: what happens when a folder of manifests takes the place of another, or of its last commit. */
export function addDiffCommand(program: Command, exit: ExitStatus): void {
  program
    .command('diff')
    .description(
      'what changes, restarts, is replaced or dropped, and what it costs; exit status 0: nothing, 1: something, 2: failed',
    )
    .argument('<folder>', 'manifests as they are to be')
    .argument('[folder|revision]', 'manifests as they are: a folder, or a git revision of the first', 'HEAD')
    .option('--json', 'print one JSON document')
    .action((folder: string, base: string, flags: { readonly json?: true }) => runDiff(folder, base, flags.json === true, exit));
}

async function runDiff(folder: string, base: string, json: boolean, exit: ExitStatus): Promise<void> {
  const output = processOutput({ json });
  try {
    const after = await readSide(folder);
    const before = isFolder(base) ? await readSide(base) : readRevision(folder, base);
    if (reportErrors([before, after], output)) {
      exit.code = NOT_COMPARED;
      return;
    }
    const diff = diffManifests(before.objects, after.objects);
    for (const line of diffLines(diff)) output.line(line);
    output.document(diff);
    if (diff.changes.length > 0) exit.code = DIFFERENT;
  } catch (error) {
    if (!(error instanceof KvasirError)) throw error;
    output.line(reportLine(error.finding));
    exit.code = NOT_COMPARED;
  }
}

/** An empty folder is a side like any other: everything was added, or is to go. */
async function readSide(folder: string): Promise<ManifestSet> {
  try {
    return await readFolders([folder]);
  } catch (error) {
    if (error instanceof KvasirError && error.code === 'cli/no-manifests') return { objects: [], findings: [] };
    throw error;
  }
}

/** A document that cannot be read would look removed. */
function reportErrors(sides: readonly ManifestSet[], output: Output): boolean {
  const errors = sides.flatMap(({ findings }) => findings).filter(({ severity }) => severity === 'error');
  for (const finding of errors) output.line(reportLine(finding));
  return errors.length > 0;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
