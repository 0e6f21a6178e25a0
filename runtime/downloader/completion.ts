import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RemoteModel } from './remote-file';

const NAME = '.kvasir-complete.json';

/** What a folder holds, written when all of it is there. */
export interface Completion {
  readonly source: string;
  readonly revision: string;
  /** What of the source is wanted: another choice is another download. */
  readonly patterns: string;
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
}

/** @returns undefined when the folder is not complete, or files of it are gone or have another size. */
export async function readCompletion(folder: string): Promise<Completion | undefined> {
  try {
    const completion = JSON.parse(await readFile(join(folder, NAME), 'utf8')) as Completion;
    for (const { path, bytes } of completion.files) {
      if ((await stat(join(folder, path))).size !== bytes) return undefined;
    }
    return completion;
  } catch {
    return undefined;
  }
}

export async function writeCompletion(
  folder: string,
  { revision, files }: RemoteModel,
  { source, patterns }: Pick<Completion, 'source' | 'patterns'>,
): Promise<void> {
  const completion: Completion = { source, revision, patterns, files: files.map(({ path, bytes }) => ({ path, bytes })) };
  const file = join(folder, NAME);
  await writeFile(`${file}.new`, `${JSON.stringify(completion, null, 2)}\n`);
  await rename(`${file}.new`, file);
}
