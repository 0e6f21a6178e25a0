import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(__dirname, '../..');

/** Puts the packages that this one asks for, and nothing of what it is built with, into the `node_modules` of `project`. */
export function linkDependencies(project: string): void {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Readonly<
    Record<'dependencies' | 'peerDependencies', Readonly<Record<string, string>>>
  >;
  for (const name of Object.keys({ ...dependencies, ...peerDependencies })) {
    const link = join(project, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
}
