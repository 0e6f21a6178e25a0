import { link, lstat, mkdir, readdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { KvasirError } from '../../src/errors';
import { type FilePatterns, isWanted } from './patterns';

/**
 * Gives a folder that a volume has already another place, without a second copy: hard links on the same volume, symbolic ones elsewhere.
 *
 * @throws KvasirError `download/no-folder` when it is none.
 */
export async function linkFolder(from: string, to: string, patterns: FilePatterns, say: (line: string) => void): Promise<void> {
  const found = await stat(from).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    throw new KvasirError({
      code: 'download/no-folder',
      field: '--source',
      message: `${from} is no folder`,
      remedy: 'mount the volume, and name a folder of it',
    });
  }
  if (resolve(from) === resolve(to)) {
    say(`${from} is used as it is`);
    return;
  }
  const files = await filesBelow(from);
  const wanted = files.filter((path) => isWanted(path.split('\\').join('/'), patterns));
  for (const path of wanted) await linkFile(join(from, path), join(to, path));
  say(`${wanted.length} files of ${from} are in ${to}`);
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

async function linkFile(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  const there = await lstat(to).catch(() => undefined);
  const original = await stat(from);
  if (there !== undefined && there.ino === original.ino && there.dev === original.dev) return;
  if (there?.isSymbolicLink() === true && (await readlink(to)) === from) return;
  // The new link takes the old one's place in one step.
  const aside = `${to}.new`;
  await rm(aside, { force: true });
  await link(from, aside).catch(() => symlink(from, aside));
  await rename(aside, to);
}
