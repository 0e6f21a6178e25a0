import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { linkDependencies } from './link-dependencies';

const root = join(__dirname, '../..');

/** Puts the package's manifest and declarations into the `node_modules` of `project`, as an installed package has them. */
export function declarePackage(project: string): void {
  const installed = join(project, 'node_modules/kvasir');
  mkdirSync(installed, { recursive: true });
  cpSync(join(root, 'package.json'), join(installed, 'package.json'));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const output = ['--emitDeclarationOnly', '--outDir', join(installed, 'dist')];
  spawnSync(process.execPath, [compiler, '-p', 'tsconfig.json', ...output], { cwd: root });
  linkDependencies(project);
}
