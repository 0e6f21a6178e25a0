import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import wabt from 'wabt';

/** The TypeScript file that carries the assembled `xxh64.wat`. */
export async function xxh64ModuleText(): Promise<string> {
  const { parseWat } = await wabt();
  const module = parseWat('xxh64.wat', readFileSync(join(__dirname, '../../runtime/lib/xxh64/xxh64.wat'), 'utf8'));
  module.validate();
  const lines =
    Buffer.from(module.toBinary({}).buffer)
      .toString('base64')
      .match(/.{1,120}/g) ?? [];
  module.destroy();
  return `/** \`xxh64.wat\`, assembled. Written by test/helpers/write-xxh64-module.ts. */\nexport const XXH64_MODULE =\n${lines
    .map((line) => `  '${line}'`)
    .join(' +\n')};\n`;
}
