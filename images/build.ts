/** Bundles into `dist/`. Run from the repository's root, after `tsc`: `node dist/images/build.js`. */
import { join } from 'node:path';
import { bundleAll } from './bundle';

bundleAll(process.cwd(), join(process.cwd(), 'dist')).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
