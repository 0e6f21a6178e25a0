/** One command-line flag, as the engine's own help states it. */
export interface EngineFlag {
  /** Long name with its dashes, such as `--max-model-len`. */
  readonly name: string;
  readonly aliases: readonly string[];
  /** `switch` takes no value and has a `--no-` twin; `choice` is a value with words that the help lists. */
  readonly kind: 'value' | 'switch' | 'choice';
  /** Words that the help lists. They come from its text, so an example of a JSON value may be among them. */
  readonly choices?: readonly string[];
  /** Default as the help prints it (`None`, `False`, `0.92`); undefined when it prints none. */
  readonly defaultValue?: string;
}

/** Flags of one engine version, by name. */
export type FlagTable = ReadonlyMap<string, EngineFlag>;

/** Reads the lines of a `flags-*.ts`: names, kind, default (`\N` for none), choices; tabs between fields, `|` between items. */
export function parseFlagTable(lines: string): FlagTable {
  const table = new Map<string, EngineFlag>();
  for (const line of lines.split('\n')) {
    if (line === '') continue;
    const [names, kind, defaultValue, choices] = line.split('\t');
    const [name, ...aliases] = names!.split('|');
    table.set(name!, {
      name: name!,
      aliases,
      kind: kind as EngineFlag['kind'],
      ...(choices === undefined ? {} : { choices: choices.split('|') }),
      ...(defaultValue === '\\N' ? {} : { defaultValue: defaultValue! }),
    });
  }
  return table;
}

/** A flag as it was written on a command line. */
export interface FoundFlag {
  readonly flag: EngineFlag;
  /** Whether it was written as `--no-…`. */
  readonly isNegated: boolean;
}

/**
 * Looks a flag up as the engines do: underscores count as dashes, aliases are known, a switch may be written as `--no-…`, and
 * `--config.key` belongs to `--config`.
 */
export function findFlag(table: FlagTable, written: string): FoundFlag | undefined {
  const exact = table.get(written);
  if (exact !== undefined) return { flag: exact, isNegated: false };
  const name = written.startsWith('--') ? `--${written.slice(2).split('.')[0]!.replaceAll('_', '-')}` : written;
  const direct = table.get(name) ?? aliasesOf(table).get(name);
  if (direct !== undefined) return { flag: direct, isNegated: false };
  if (!name.startsWith('--no-')) return undefined;
  const positive = table.get(`--${name.slice('--no-'.length)}`);
  return positive?.kind === 'switch' ? { flag: positive, isNegated: true } : undefined;
}

const aliasCache = new WeakMap<FlagTable, ReadonlyMap<string, EngineFlag>>();

function aliasesOf(table: FlagTable): ReadonlyMap<string, EngineFlag> {
  let aliases = aliasCache.get(table);
  if (aliases === undefined) {
    aliases = new Map([...table.values()].flatMap((flag) => flag.aliases.map((alias) => [alias, flag] as const)));
    aliasCache.set(table, aliases);
  }
  return aliases;
}

/**
 * The flag that a mistyped name most likely means: the one with the fewest single-character edits, at most a third of its length.
 *
 * @returns undefined when nothing is near.
 */
export function nearestFlag(table: FlagTable, written: string): EngineFlag | undefined {
  const name = written.replaceAll('_', '-').split('=')[0]!;
  let best: EngineFlag | undefined;
  let bestDistance = Math.floor(name.replace(/^-+/, '').length / 3) + 1;
  for (const flag of table.values()) {
    for (const candidate of [flag.name, ...flag.aliases]) {
      if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
      const distance = editDistance(name, candidate);
      if (distance < bestDistance) {
        best = flag;
        bestDistance = distance;
      }
    }
  }
  return best;
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      row.push(Math.min(row[j - 1]! + 1, previous[j]! + 1, previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    previous = row;
  }
  return previous[b.length]!;
}
