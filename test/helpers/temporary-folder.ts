import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new empty folder for one test file, removed after it. Must be called at the top level or in a `describe`. */
export function temporaryFolders(): () => string {
  const made: string[] = [];
  afterAll(() => {
    for (const folder of made) rmSync(folder, { recursive: true, force: true });
  });
  return () => {
    const folder = mkdtempSync(join(tmpdir(), 'kvasir-test-'));
    made.push(folder);
    return folder;
  };
}

/** Every file under `folder` with its content, hidden ones included. */
export function filesUnder(folder: string): Readonly<Record<string, string>> {
  const files: [string, string][] = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.push([path.slice(folder.length + 1), readFileSync(path, 'utf8')]);
  }
  return Object.fromEntries(files.sort(([a], [b]) => (a < b ? -1 : 1)));
}
