/** Words that no variable may be called, and names that the program already has. */
const TAKEN = [
  ...['break', 'case', 'catch', 'class', 'const', 'continue', 'debugger', 'default', 'delete', 'do', 'else', 'enum', 'export'],
  ...['extends', 'false', 'finally', 'for', 'function', 'if', 'import', 'in', 'instanceof', 'new', 'null', 'return', 'super'],
  ...['switch', 'this', 'throw', 'true', 'try', 'typeof', 'var', 'void', 'while', 'with', 'yield', 'let', 'static', 'await'],
  ...['async', 'implements', 'interface', 'package', 'private', 'protected', 'public', 'arguments', 'eval', 'undefined'],
  ...['app', 'require', 'module', 'exports', 'process', 'global'],
];

/** Gives each thing a name of its own, and the same ones in the same order each time. */
export class Names {
  private readonly taken: Set<string>;

  private constructor(taken: readonly string[]) {
    this.taken = new Set(taken);
  }

  static variables(): Names {
    return new Names(TAKEN);
  }

  /** Ids of constructs in one scope. */
  static ids(): Names {
    return new Names([]);
  }

  /**
   * `text` as a variable: `deepseek-r1-7b` is `deepseekR17b`.
   *
   * @param kind follows where that is taken.
   */
  variable(text: string, kind: string): string {
    const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
    const [first = 'it', ...rest] = words;
    const name =
      first.charAt(0).toLowerCase() + first.slice(1) + rest.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
    const legal = /^\d/.test(name) ? `_${name}` : name;
    return this.free([legal, `${legal}${kind}`]);
  }

  /** The first of `wanted` that is free, else the last with a number. */
  free(wanted: readonly string[]): string {
    const found = wanted.find((name) => !this.taken.has(name));
    let name = found ?? wanted.at(-1)!;
    for (let n = 2; this.taken.has(name); n++) name = `${wanted.at(-1)}${n}`;
    this.taken.add(name);
    return name;
  }
}
