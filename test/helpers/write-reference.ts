/**
 * Writes `docs/reference.md` from the schemas and `docs/constructs/` from the docstrings: `npx tsx test/helpers/write-reference.ts`. Run it after
 * either changed. With a folder as argument, writes there instead.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constructPages } from './construct-pages';
import { packageDeclarations } from './package-declarations';
import { referencePage } from './reference-page';

const docs = process.argv[2] ?? join(__dirname, '../../docs');
const constructs = join(docs, 'constructs');
const pages = constructPages(packageDeclarations());
rmSync(constructs, { recursive: true, force: true });
mkdirSync(constructs);
for (const [name, text] of Object.entries(pages)) writeFileSync(join(constructs, name), text);
writeFileSync(join(docs, 'reference.md'), referencePage());
