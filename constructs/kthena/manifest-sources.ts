import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from '../../src/errors';

/** Text of a file, under the path by which it was given. */
export interface ManifestText {
  readonly file: string;
  readonly text: string;
}

const MANIFEST_NAME = /\.(?:ya?ml|json)$/i;

/** Reads files, and the *.yaml, *.yml and *.json of a folder at any depth, each once and in the same order everywhere. */
export function readTexts(paths: readonly string[]): {
  readonly texts: readonly ManifestText[];
  readonly findings: readonly Finding[];
} {
  const texts = new Map<string, ManifestText>();
  const findings: Finding[] = [];
  for (const path of paths) {
    try {
      for (const file of filesOf(path)) texts.set(file, { file, text: readFileSync(file, 'utf8') });
    } catch (error) {
      findings.push(unreadable(path, error));
    }
  }
  return { texts: [...texts.values()], findings };
}

function filesOf(path: string): readonly string[] {
  return statSync(path).isDirectory() ? filesBelow(path) : [path];
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (statSync(path).isDirectory()) return filesBelow(path);
      return MANIFEST_NAME.test(entry.name) ? [path] : [];
    });
}

function unreadable(path: string, error: unknown): Finding {
  const code = (error as NodeJS.ErrnoException).code ?? String(error);
  return {
    code: 'manifest/unreadable',
    severity: 'error',
    file: path,
    message: code === 'ENOENT' ? 'there is no such file or folder' : `cannot be read (${code})`,
    remedy: 'check the path, which starts at the folder where synth runs',
  };
}
