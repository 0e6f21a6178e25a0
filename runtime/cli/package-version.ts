import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version of this package. Its manifest is two folders up, from the sources and from the bundle alike. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8')) as { readonly version: string };
  return manifest.version;
}
