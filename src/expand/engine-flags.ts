import { type FlagTable, findFlag } from '../catalog/engines/flag';

/** Flags that take every word up to the next flag. */
const LISTS = new Set([
  '--served-model-name',
  '--lora-modules',
  '--lora-paths',
  '--allowed-origins',
  '--allowed-methods',
  '--allowed-headers',
  '--middleware',
  '--api-key',
  '--lora-target-modules',
  '--cuda-graph-bs',
]);

/** Arguments of an engine as they were given: flag name (of the table where it knows it) → values; a switch has `true` or `false`. */
export interface EngineFlags {
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Words that belong to no flag, in order. */
  readonly positional: readonly string[];
  /** Flags that the table does not know, as written, without value. */
  readonly unknown: readonly string[];
}

/** Reads an argument list by an engine's flag table. A later flag replaces an earlier one, as argparse does. */
export function parseEngineFlags(args: readonly string[], table: FlagTable): EngineFlags {
  const values = new Map<string, readonly string[]>();
  const positional: string[] = [];
  const unknown: string[] = [];
  let i = 0;
  const takeWords = (atMost: number) => {
    const words: string[] = [];
    while (words.length < atMost && i < args.length && !isFlag(args[i]!)) words.push(args[i++]!);
    return words;
  };
  while (i < args.length) {
    const word = args[i++]!;
    if (!isFlag(word)) {
      positional.push(word);
      continue;
    }
    const equals = word.indexOf('=');
    const written = equals === -1 ? word : word.slice(0, equals);
    const inline = equals === -1 ? undefined : word.slice(equals + 1);
    const found = findFlag(table, written);
    const name = found?.flag.name ?? (written.startsWith('--') ? `--${written.slice(2).replaceAll('_', '-')}` : written);
    if (found === undefined) unknown.push(written);
    if (found?.flag.kind === 'switch') {
      values.set(name, [found.isNegated ? 'false' : (inline ?? 'true')]);
    } else {
      const most = LISTS.has(name) ? Number.POSITIVE_INFINITY : 1;
      const words = inline === undefined ? takeWords(most) : [inline, ...takeWords(most - 1)];
      // A flag that wants a value and has none was not given; an unknown one may be a switch.
      if (words.length > 0) values.set(name, words);
      else if (found === undefined) values.set(name, ['true']);
    }
  }
  return { values, positional, unknown };
}

/** A dash and a letter; negative numbers are values. */
function isFlag(word: string): boolean {
  return /^-{1,2}[A-Za-z]/.test(word);
}

/** Reads typed values out of parsed flags. */
export class FlagReader {
  constructor(private readonly flags: EngineFlags) {}

  has(...names: readonly string[]): boolean {
    return names.some((name) => this.flags.values.has(name));
  }

  /** First value of the first of `names` that was given. */
  text(...names: readonly string[]): string | undefined {
    return this.list(...names)[0];
  }

  list(...names: readonly string[]): readonly string[] {
    for (const name of names) {
      const values = this.flags.values.get(name);
      if (values !== undefined) return values;
    }
    return [];
  }

  /** A number, with the suffixes that engines read: `32k` is 32,000, `32K` is 32,768. */
  number(...names: readonly string[]): number | undefined {
    const match = /^(-?\d+(?:\.\d+)?)([kKmM]?)$/.exec(this.text(...names) ?? '');
    if (match === null) return undefined;
    const scale = { '': 1, k: 1e3, K: 2 ** 10, m: 1e6, M: 2 ** 20 }[match[2]!]!;
    return Number(match[1]) * scale;
  }

  /** A positive whole number; anything else, such as -1 for "automatic", counts as not given. */
  count(...names: readonly string[]): number | undefined {
    const value = this.number(...names);
    return value !== undefined && value >= 1 ? Math.floor(value) : undefined;
  }

  /** A port, 1..65535. */
  port(name: string): number | undefined {
    const value = this.count(name);
    return value !== undefined && value <= 65_535 ? value : undefined;
  }

  /** A switch: given without value or with a word for true; undefined when it was not given. */
  flag(name: string): boolean | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : !/^(?:false|0|no|off)$/i.test(value);
  }

  get positional(): readonly string[] {
    return this.flags.positional;
  }
}
