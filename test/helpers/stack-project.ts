import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(__dirname, '../..');

/** Runs a project's `main.ts` against these sources, where an installed package would be. */
export const RUN_MAIN = `${join(root, 'node_modules/.bin/tsx')} --tsconfig ${join(root, 'tsconfig.test.json')} main.ts`;

/** Writes a project into `folder`, with the packages of this checkout. */
export function stackProject(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
}
