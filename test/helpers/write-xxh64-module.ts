/** Writes `runtime/lib/xxh64/xxh64-module.ts` from `xxh64.wat`: `npx tsx test/helpers/write-xxh64-module.ts`. Run it after a change of the latter. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { xxh64ModuleText } from './xxh64-module-text';

void xxh64ModuleText().then((text) => writeFileSync(join(__dirname, '../../runtime/lib/xxh64/xxh64-module.ts'), text));
