import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { INDEX_FILE } from '../../../src/output-index';

/** What bringing a stage into its folder changed, as paths under the folder. */
export interface StageResult {
  readonly written: readonly string[];
  readonly removed: readonly string[];
}

/** Folders that no stack writes to, and that may be large. */
const LEFT_OUT: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * A copy of an output folder, in which a stack may do what it likes; the folder itself stays as it is until `apply`. Lies beside it, so
 * that files move instead of being copied once more.
 */
export class Stage {
  readonly path: string;
  private readonly target: string;
  private readonly root: string;
  private readonly before: ReadonlySet<string>;

  constructor(folder: string) {
    this.target = resolve(folder);
    mkdirSync(dirname(this.target), { recursive: true });
    this.root = mkdtempSync(join(dirname(this.target), `.${basename(this.target)}.kvasir-synth-`));
    this.path = join(this.root, basename(this.target));
    if (existsSync(this.target)) {
      cpSync(this.target, this.path, {
        recursive: true,
        preserveTimestamps: true,
        verbatimSymlinks: true,
        filter: (source) => !LEFT_OUT.has(basename(source)),
      });
    } else {
      mkdirSync(this.path);
    }
    this.before = new Set(filesBelow(this.path));
  }

  /** Whether the stack left any file here. */
  get isEmpty(): boolean {
    return filesBelow(this.path).length === 0;
  }

  /**
   * Moves into the folder what the stack wrote, and removes from it what the stack removed. An app's index names old and new files until
   * the end, so that a run that dies between two moves is mended by the next.
   */
  apply(): StageResult {
    const after = filesBelow(this.path);
    const written = after.filter((path) => !isSame(join(this.path, path), join(this.target, path)));
    const kept = new Set(after);
    const removed = [...this.before].filter((path) => !kept.has(path));
    const indexes = written.filter((path) => basename(path) === INDEX_FILE);
    for (const path of indexes) this.writeUnion(path);
    for (const path of written) if (!indexes.includes(path)) this.move(path);
    for (const path of removed) rmSync(join(this.target, path), { force: true });
    for (const path of indexes) this.move(path);
    removeEmptyFolders(this.target, removed);
    return { written, removed };
  }

  dispose(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  private move(path: string): void {
    mkdirSync(dirname(join(this.target, path)), { recursive: true });
    renameSync(join(this.path, path), join(this.target, path));
  }

  private writeUnion(path: string): void {
    const lines = [join(this.target, path), join(this.path, path)].flatMap((file) =>
      existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [],
    );
    mkdirSync(dirname(join(this.target, path)), { recursive: true });
    writeFileSync(join(this.target, path), `${[...new Set(lines)].filter((line) => line !== '').join('\n')}\n`);
  }
}

/** Everything but folders, as paths relative to `folder`. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

function isSame(staged: string, present: string): boolean {
  try {
    return readFileSync(staged).equals(readFileSync(present));
  } catch {
    return false;
  }
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
