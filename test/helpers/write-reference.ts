/** Writes `docs/reference.md` from the schemas: `npx tsx test/helpers/write-reference.ts`. Run it after a schema changed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { referencePage } from './reference-page';

writeFileSync(join(__dirname, '../../docs/reference.md'), referencePage());
