/** Bundles what runs without `node_modules`: one file per image, the command, and the simulator's library. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build, type Metafile } from 'esbuild';

/** Module, from the repository's root → bundle, from the output folder. A `main.ts` runs when it is the program that Node was given. */
const BUNDLES: Readonly<Record<string, string>> = {
  'runtime/router/main.ts': 'images/router/main.js',
  'runtime/autoscaler/main.ts': 'images/autoscaler/main.js',
  'runtime/downloader/main.ts': 'images/downloader/main.js',
  'runtime/cli/main.ts': 'cli/main.js',
  'runtime/simulator/index.ts': 'simulator/index.js',
};

/**
 * Writes all bundles, each with `THIRD-PARTY-NOTICES.txt` beside it.
 *
 * @param root the repository's root.
 * @param outFolder such as `dist`.
 * @throws when a module cannot be bundled.
 */
export async function bundleAll(root: string, outFolder: string): Promise<void> {
  await Promise.all(Object.entries(BUNDLES).map(([module, outfile]) => write(module, join(outFolder, outfile), root)));
}

async function write(module: string, outfile: string, root: string): Promise<void> {
  const { metafile } = await build({
    entryPoints: [module],
    absWorkingDir: root,
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    metafile: true,
    legalComments: 'none',
    // Without comments and indentation the package is a third smaller; names stay, for profiles and stack traces.
    minifyWhitespace: true,
    logLevel: 'error',
    // Libraries ask for these when they are there and do without.
    external: ['pino-pretty', 'bufferutil', 'utf-8-validate'],
  });
  writeFileSync(join(dirname(outfile), 'THIRD-PARTY-NOTICES.txt'), notices(metafile, root));
}

const LICENCE_FILES = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'license', 'license.md', 'LICENCE', 'License.txt'];

/** Name, version, licence and licence text of every package of which something is in the bundle, by name. */
function notices(metafile: Metafile, root: string): string {
  const folders = new Set<string>();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match !== null) folders.add(join(root, match[1]!));
  }
  const entries = [...folders].sort().map((folder) => {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>;
    const file = LICENCE_FILES.find((name) => existsSync(join(folder, name)));
    const text = file === undefined ? '' : `\n\n${readFileSync(join(folder, file), 'utf8').trim()}`;
    return `${String(manifest.name)} ${String(manifest.version)} (${String(manifest.license)})${text}`;
  });
  return `This file names the packages that are part of the program beside it.\n\n${entries.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
