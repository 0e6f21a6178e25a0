import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { INDEX_FILE } from '../../src/output-index';

export { INDEX_FILE };

const HEADER = '# Written by synth, with the files below. Files that are not listed are never touched.';
/** Only what this program could have written: no hidden folder, no way out, a manifest. */
const OWN_PATH = /^(?:[A-Za-z0-9][A-Za-z0-9._-]*\/)+[A-Za-z0-9][A-Za-z0-9._-]*\.yaml$/;

/** Paths that an earlier synth wrote under `folder`; empty when there was none. Lines that cannot be its own are left out. */
export function readIndex(folder: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(join(folder, INDEX_FILE), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return text.split(/\r?\n/).filter((line) => OWN_PATH.test(line));
}

/** The index file's content for `paths`, in one order whatever the order given. */
export function formatIndex(paths: Iterable<string>): string {
  return `${[HEADER, ...[...paths].sort()].join('\n')}\n`;
}
