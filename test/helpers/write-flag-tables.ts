/**
 * Writes `src/catalog/engines/flags-*.ts` from the recorded `flags.json` of each engine version:
 * `npx tsx test/helpers/write-flag-tables.ts`. Run it after a recording was added, and list the new table in the engine's file.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface RecordedFlag {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly kind: 'value' | 'switch' | 'choice';
  readonly choices?: readonly string[];
  readonly default: string | null;
}

const root = join(__dirname, '../..');
const fixtures = join(root, 'test/fixtures/engines');

/** One flag as one line: names, kind, default, choices; tabs between fields, `|` between items. */
function line(flag: RecordedFlag): string {
  const fields = [[flag.name, ...flag.aliases].join('|'), flag.kind, flag.default ?? '\\N', (flag.choices ?? []).join('|')];
  if (flag.choices === undefined) fields.pop();
  const text = fields.join('\t');
  if (/[`\n]|\$\{|\\(?!N)/.test(text) || flag.choices?.some((choice) => choice.includes('|'))) {
    throw new Error(`${flag.name}: a character that the table cannot carry`);
  }
  return text.replaceAll('\t', '\\t').replaceAll('\\N', '\\\\N');
}

for (const folder of readdirSync(fixtures)) {
  const match = /^(vllm|sglang)-(.+)$/.exec(folder);
  if (match === null) continue;
  const flags = JSON.parse(readFileSync(join(fixtures, folder, 'flags.json'), 'utf8')) as RecordedFlag[];
  const constant = `${match[1]!.toUpperCase()}_${match[2]!.replaceAll('.', '_')}_FLAGS`;
  const body = flags.map(line).join('\n');
  writeFileSync(
    join(root, `src/catalog/engines/flags-${folder.replaceAll('.', '-')}.ts`),
    `/** Command-line flags of ${match[1]} ${match[2]}, one a line as \`parseFlagTable\` reads them. Written by test/helpers/write-flag-tables.ts. */\n` +
      `export const ${constant} = \`\n${body}\n\`;\n`,
  );
}
