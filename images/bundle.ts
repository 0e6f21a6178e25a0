/** Bundles what runs without `node_modules`: one file per image, the command, and the simulator's library. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build, type Metafile } from 'esbuild';

/** A program or library to bundle, all paths from the repository's root and from the output folder. */
interface Bundle {
  readonly outfile: string;
  /** The module that is bundled. */
  readonly module: string;
  /** The module's function to call with the command line; it resolves to the exit status. Absent for a library. */
  readonly main?: string;
}

const BUNDLES: readonly Bundle[] = [
  { outfile: 'images/router/main.js', module: './runtime/router/main', main: 'routerMain' },
  { outfile: 'images/autoscaler/main.js', module: './runtime/autoscaler/main', main: 'autoscalerMain' },
  { outfile: 'cli/main.js', module: './runtime/cli/main' },
  { outfile: 'simulator/index.js', module: './runtime/simulator/index' },
];

/**
 * Writes all bundles, each with `THIRD-PARTY-NOTICES.txt` beside it.
 *
 * @param root the repository's root.
 * @param outFolder such as `dist`.
 * @throws when a module cannot be bundled.
 */
export async function bundleAll(root: string, outFolder: string): Promise<void> {
  await Promise.all(BUNDLES.map((bundle) => write(bundle, root, outFolder)));
}

async function write({ outfile, module, main }: Bundle, root: string, outFolder: string): Promise<void> {
  const target = join(outFolder, outfile);
  const { metafile } = await build({
    stdin: {
      contents:
        main === undefined
          ? `module.exports = require('${module}');`
          : `require('${module}').${main}(process.argv.slice(2)).then((status) => process.exit(status));`,
      resolveDir: root,
      sourcefile: `${outfile}.entry.js`,
    },
    absWorkingDir: root,
    outfile: target,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    metafile: true,
    legalComments: 'none',
    logLevel: 'error',
    // Libraries ask for these when they are there and do without.
    external: ['pino-pretty', 'bufferutil', 'utf-8-validate'],
  });
  writeFileSync(join(dirname(target), 'THIRD-PARTY-NOTICES.txt'), notices(metafile, root));
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
