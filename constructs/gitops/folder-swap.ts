import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { KvasirError } from '../../src/errors';
import { formatIndex, INDEX_FILE, readIndex } from './folder-index';

/** Code of a file in the way that no synth wrote. */
export const FOREIGN_FILE = 'gitops/foreign-file';

/** What a swap did, as paths under the folder. */
export interface SwapResult {
  readonly written: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: number;
}

/**
 * Makes `folder` hold `files`: writes what differs beside it, then renames file by file, then removes files of the old index that are
 * no longer made; a folder that is not there yet appears as a whole. Foreign files stay. When it throws before the first rename the
 * folder is as it was; a process that dies between renames leaves an index of old and new files, so that the next run mends everything.
 *
 * @param files path under `folder` → content
 * @param mayOverwrite paths that are written whoever wrote them before. @default none
 * @throws KvasirError `gitops/foreign-file` when a file that is not ours stands where one of ours must go.
 */
export function swapFolder(
  folder: string,
  files: ReadonlyMap<string, string>,
  mayOverwrite: ReadonlySet<string> = new Set(),
): SwapResult {
  const target = resolve(folder);
  const owned = new Set(readIndex(target));
  const changed = changedFiles(target, files, new Set([...owned, ...mayOverwrite]));
  const removed = [...owned].filter((path) => !files.has(path) && existsSync(join(target, path)));
  const index = formatIndex(files.keys());
  if (changed.length > 0 || removed.length > 0 || readText(join(target, INDEX_FILE)) !== index) {
    mkdirSync(dirname(target), { recursive: true });
    const stage = mkdtempSync(join(dirname(target), `.${basename(target)}.kvasir-`));
    try {
      const staged = join(stage, 'files');
      writeStage(staged, changed, files);
      if (lstatSync(target, { throwIfNoEntry: false }) === undefined) {
        writeFileSync(join(staged, INDEX_FILE), index);
        renameSync(staged, target);
      } else {
        writeFileSync(join(stage, 'both'), formatIndex(new Set([...owned, ...files.keys()])));
        writeFileSync(join(stage, INDEX_FILE), index);
        renameSync(join(stage, 'both'), join(target, INDEX_FILE));
        moveInto(staged, target);
        for (const path of removed) rmSync(join(target, path), { force: true });
        removeEmptyFolders(target, removed);
        renameSync(join(stage, INDEX_FILE), join(target, INDEX_FILE));
      }
    } finally {
      rmSync(stage, { recursive: true, force: true });
    }
  }
  return { written: changed, removed, unchanged: files.size - changed.length };
}

function changedFiles(target: string, files: ReadonlyMap<string, string>, owned: ReadonlySet<string>): string[] {
  const known = new Map<string, boolean>();
  const changed: string[] = [];
  for (const [path, content] of files) {
    const present = folderExists(target, dirname(path), known) ? readText(join(target, path)) : undefined;
    if (present === content) continue;
    if (present !== undefined && !owned.has(path)) {
      throw new KvasirError({
        code: FOREIGN_FILE,
        file: join(target, path),
        message: 'a file that synth did not write is in the way',
        remedy: `move it, or add its path to ${INDEX_FILE} to give it up`,
      });
    }
    changed.push(path);
  }
  return changed;
}

/** @throws KvasirError when something else than a folder stands there: a rename into it would fail half-way. */
function folderExists(target: string, folder: string, known: Map<string, boolean>): boolean {
  const answer = known.get(folder);
  if (answer !== undefined) return answer;
  const isWithin = folder === '.' || folderExists(target, dirname(folder), known);
  const stat = isWithin ? statSync(join(target, folder), { throwIfNoEntry: false }) : undefined;
  if (stat !== undefined && !stat.isDirectory()) throw unreadable(join(target, folder), 'it is no folder');
  known.set(folder, stat !== undefined);
  return stat !== undefined;
}

function writeStage(stage: string, paths: readonly string[], files: ReadonlyMap<string, string>): void {
  mkdirSync(stage);
  for (const folder of new Set(paths.map(dirname))) mkdirSync(join(stage, folder), { recursive: true });
  for (const path of paths) writeFileSync(join(stage, path), files.get(path)!);
}

/** Moves what is in `stage` into `target`; a folder that is not there yet moves as a whole. */
function moveInto(stage: string, target: string): void {
  for (const entry of readdirSync(stage, { withFileTypes: true })) {
    const from = join(stage, entry.name);
    const to = join(target, entry.name);
    if (entry.isDirectory() && existsSync(to)) moveInto(from, to);
    else renameSync(from, to);
  }
}

/** @returns undefined when there is no file. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw unreadable(path, String(code));
  }
}

function unreadable(path: string, why: string): KvasirError {
  return new KvasirError({
    code: 'gitops/unreadable',
    file: path,
    message: `cannot be read (${why})`,
    remedy: 'move it, or choose another output folder',
  });
}

function removeEmptyFolders(target: string, removed: readonly string[]): void {
  const folders = new Set<string>();
  for (const path of removed) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  for (const folder of [...folders].sort((a, b) => b.length - a.length)) {
    try {
      rmdirSync(join(target, folder));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error;
    }
  }
}
