import { readdir, readFile, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Finding } from '../../../src/errors';
import { type ManifestObject, readManifests } from '../../../src/read-manifests';

const MANIFEST_NAME = /\.(?:ya?ml|json)$/i;
/** Folders that hold no manifests of their own. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['node_modules']);

export interface ManifestSet {
  /** In the order of the paths given, and by name within a folder, as kubectl applies them. */
  readonly objects: readonly ManifestObject[];
  readonly findings: readonly Finding[];
}

/**
 * How long a file must be missing before its objects go, in real time: a build that swaps whole folders leaves none for an instant.
 */
const VANISHED_FOR_MS = 100;

interface FileState {
  readonly text: string;
  /** Objects of its last version that had no malformed document. */
  readonly objects: readonly ManifestObject[];
  readonly findings: readonly Finding[];
}

/**
 * The manifests below some paths, read again and again. What a build or an editor leaves half-done changes nothing: a file that is
 * malformed or empty, and a given path that is missing, keep what their last good version said, with a finding.
 */
export class ManifestFiles {
  private files = new Map<string, FileState>();

  /** @param paths files of any name, and folders whose *.yaml, *.yml and *.json are read, at any depth. */
  constructor(private readonly paths: readonly string[]) {}

  async read(): Promise<ManifestSet> {
    let { next, findings } = await this.pass();
    if ([...this.files.keys()].some((file) => !next.has(file))) {
      await setTimeout(VANISHED_FOR_MS);
      ({ next, findings } = await this.pass());
    }
    this.files = next;
    const states = [...next.values()];
    return {
      objects: states.flatMap((state) => state.objects),
      findings: [...findings, ...states.flatMap((state) => state.findings)],
    };
  }

  private async pass(): Promise<{ readonly next: Map<string, FileState>; readonly findings: readonly Finding[] }> {
    const next = new Map<string, FileState>();
    const findings: Finding[] = [];
    for (const path of this.paths) {
      const listing = await manifestFiles(path);
      findings.push(...listing.findings);
      const files = listing.isMissing ? this.knownBelow(path) : listing.files;
      for (const file of files) {
        const state = next.get(file) ?? (listing.isMissing ? this.files.get(file) : await this.readOne(file, findings));
        if (state !== undefined) next.set(file, state);
      }
    }
    return { next, findings };
  }

  private knownBelow(path: string): readonly string[] {
    return [...this.files.keys()].filter((file) => file === path || file.startsWith(join(path, sep)));
  }

  private async readOne(file: string, findings: Finding[]): Promise<FileState | undefined> {
    const before = this.files.get(file);
    let text: string;
    try {
      text = await readFile(file, 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      findings.push(unreadable(file, error));
      return before;
    }
    if (text === before?.text) return before;
    const read = readManifests(text, file);
    if (before === undefined || before.objects.length === 0) return { text, ...read };
    if (text.trim() === '') return { text, objects: before.objects, findings: [emptied(file)] };
    const isMalformed = read.findings.some(({ severity }) => severity === 'error');
    return { text, objects: isMalformed ? before.objects : read.objects, findings: read.findings };
  }
}

interface Listing {
  readonly files: readonly string[];
  readonly findings: readonly Finding[];
  /** The path itself is not there. */
  readonly isMissing: boolean;
}

async function manifestFiles(path: string): Promise<Listing> {
  try {
    if (!(await stat(path)).isDirectory()) return { files: [path], findings: [], isMissing: false };
  } catch (error) {
    return { files: [], findings: [unreadable(path, error)], isMissing: true };
  }
  const findings: Finding[] = [];
  return { files: await filesBelow(path, findings), findings, isMissing: false };
}

async function filesBelow(folder: string, findings: Finding[]): Promise<readonly string[]> {
  const files: string[] = [];
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const { name } = entry;
      if (name.startsWith('.') || SKIPPED_FOLDERS.has(name)) continue;
      const path = join(folder, name);
      // A mounted ConfigMap shows its files through links.
      const isFolder = entry.isSymbolicLink() ? await isDirectory(path) : entry.isDirectory();
      if (isFolder) files.push(...(await filesBelow(path, findings)));
      else if (MANIFEST_NAME.test(name)) files.push(path);
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') findings.push(unreadable(folder, error));
  }
  return files;
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

function unreadable(path: string, error: unknown): Finding {
  const isMissing = codeOf(error) === 'ENOENT';
  return {
    code: 'manifest/unreadable',
    severity: 'error',
    file: path,
    message: isMissing ? 'there is no such file or folder' : `cannot be read (${codeOf(error) ?? String(error)})`,
    remedy: isMissing ? 'check the path' : 'check its permissions',
  };
}

function emptied(file: string): Finding {
  return {
    code: 'manifest/emptied',
    severity: 'warning',
    file,
    message: 'is empty now, and its objects are kept',
    remedy: 'delete the file to remove them',
  };
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
