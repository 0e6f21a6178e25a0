import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { exitWith, runImage } from '../lib/image-program';
import { writingTo } from './disk-error';
import { downloadRepository } from './download';
import { linkFolder } from './local-folder';
import { readSettings } from './settings';
import { parseSource } from './source';

interface Flags {
  readonly source: string;
  readonly outputDir: string;
  readonly maxWorkers: number;
  readonly config?: string;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** The downloader's command line: Kthena's, and what it lacks. @returns the exit status, as `runImage` says. */
export function downloaderMain(argv: readonly string[]): Promise<number> {
  const several = (value: string, before: readonly string[]): readonly string[] => [...before, value];
  const program = new Command('downloader')
    .description('Brings a model into a folder before an engine starts.')
    .requiredOption('-s, --source <uri>', 'hf://organization/name, or pvc://folder')
    .option('-o, --output-dir <folder>', 'where the files go', join(homedir(), 'downloads'))
    .option('-w, --max-workers <count>', 'connections at a time', workersOf, 8)
    .option('-c, --config <json>', 'settings as JSON, such as {"hf_revision": "main"}; they come before the environment')
    .option('--include <pattern>', 'only files that match, such as *.safetensors; may be given several times', several, [])
    .option('--exclude <pattern>', 'no files that match; may be given several times', several, []);
  return runImage<Flags>(program, argv, run);
}

async function run({ source, outputDir, maxWorkers, config, include, exclude }: Flags): Promise<void> {
  const say = (line: string): boolean => process.stdout.write(`${line}\n`);
  const folder = resolve(outputDir.replace(/^~(?=\/|$)/, homedir()));
  const from = parseSource(source);
  const settings = readSettings(config, process.env);
  const patterns = { include, exclude };
  await writingTo(folder, () =>
    from.kind === 'folder'
      ? linkFolder(from.path, folder, patterns, say)
      : downloadRepository({ repository: from.repository, settings, folder, workers: maxWorkers, patterns, say }),
  );
}

function workersOf(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 64) throw new InvalidArgumentError('write a whole number from 1 to 64');
  return count;
}

if (require.main === module) exitWith(downloaderMain(process.argv.slice(2)));
