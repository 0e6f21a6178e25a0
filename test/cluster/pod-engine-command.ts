import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';

/** A program that runs simulated engines in the pods of a control plane. */
export interface PodEngine {
  /** For `podExec`. */
  readonly command: string;
  remove(): void;
}

/** Bundles the program, so that a pod starts in a tenth of a second. */
export function podEngineCommand(): PodEngine {
  const folder = mkdtempSync(join(tmpdir(), 'kvasir-pod-engine-'));
  const outfile = join(folder, 'pod-engine.js');
  buildSync({ entryPoints: [join(__dirname, 'pod-engine.ts')], outfile, bundle: true, platform: 'node', logLevel: 'error' });
  return {
    command: `exec '${process.execPath}' '${outfile}'`,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
