import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { bundleAll } from '../../images/bundle';

const root = join(__dirname, '../..');
/** What the package is made of, beside what is compiled. */
const PARTS = ['package.json', 'README.md', 'LICENSE', 'bin', 'docs', 'examples', 'images', 'src', 'test/helpers'];

/** The package as it would be published. */
export interface PackedPackage {
  /** Path of the archive. */
  readonly tarball: string;
  readonly bytes: number;
}

/**
 * Compiles these sources in `built` and packs them into `destination`; both are empty folders.
 *
 * @throws Error when bundling or packing fails. Type errors are the type check's matter.
 */
export async function packPackage(built: string, destination: string): Promise<PackedPackage> {
  for (const name of PARTS) cpSync(join(root, name), join(built, name), { recursive: true });
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  spawnSync(process.execPath, [compiler, '-p', 'tsconfig.json', '--outDir', join(built, 'dist')], { cwd: root });
  await bundleAll(root, join(built, 'dist'));
  const printed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', destination], { cwd: built });
  const [pack] = Object.values(JSON.parse(printed.toString()) as Record<string, { filename: string; size: number }>);
  return { tarball: join(destination, pack!.filename), bytes: pack!.size };
}
