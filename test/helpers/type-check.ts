import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const compiler = join(__dirname, '../../node_modules/typescript/bin/tsc');

/**
 * Type-checks the `.ts` and `.mts` files under `folder` in one run of the compiler.
 *
 * @returns what the compiler says, one line each; empty when all is well.
 */
export function typeCheck(folder: string, compilerOptions: Readonly<Record<string, unknown>>): string[] {
  const project = join(folder, 'tsconfig.json');
  const options = { strict: true, noEmit: true, module: 'node16', moduleResolution: 'node16', ...compilerOptions };
  writeFileSync(
    project,
    JSON.stringify({ compilerOptions: options, include: ['**/*.ts', '**/*.mts'], exclude: ['node_modules'] }),
  );
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', project, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  });
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
}
