import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Pair,
  parseAllDocuments,
  type ScalarTag,
  type Tags,
  visit,
} from 'yaml';

/** One YAML document, read into plain JSON values. */
export interface YamlDocument {
  readonly value: unknown;
  /** Line of its first node, 1-based within the text given. */
  readonly line: number;
  /** Line of `value.items[index]`, when `value` has such a list. */
  itemLine(index: number): number;
}

/** What stands in the way of a document, or is suspicious in one that was read. */
export interface YamlProblem {
  readonly severity: 'error' | 'warning';
  readonly line: number;
  readonly message: string;
  readonly remedy: string;
}

// Scalars below are resolved as Kubernetes' own reader does (its fork of go-yaml v2); checked against kubectl 1.32. It takes YAML
// 1.1's booleans and octals, but no sexagesimal numbers and no timestamps, and drops underscores before it reads a number.
const INTEGER = /^[-+]?(?:0[bB][01]+|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const NOT_FINITE = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const STARTS_NUMBER = /^[-+.0-9]/;

function numberOf(text: string): number | undefined {
  if (!STARTS_NUMBER.test(text)) return undefined;
  const plain = text.replaceAll('_', '');
  if (INTEGER.test(plain)) {
    const sign = plain.startsWith('-') ? -1 : 1;
    const digits = plain.replace(/^[-+]/, '');
    const value = /^0[0-7]/.test(digits) ? Number.parseInt(digits, 8) : Number(digits.toLowerCase());
    return value === 0 ? 0 : sign * value;
  }
  if (!FLOAT.test(plain)) return undefined;
  const value = Number(plain);
  return Number.isFinite(value) ? (value === 0 ? 0 : value) : undefined;
}

const nullTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:null',
  default: true,
  test: /^(?:~|[Nn]ull|NULL)?$/,
  createNode: undefined,
  resolve: () => null,
};
const trueTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(?:[yY]|yes|Yes|YES|true|True|TRUE|on|On|ON)$/,
  resolve: () => true,
};
const falseTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(?:[nN]|no|No|NO|false|False|FALSE|off|Off|OFF)$/,
  resolve: () => false,
};
// One tag for both kinds of number: JSON knows only one.
const numberTag = (tag: 'int' | 'float'): ScalarTag => ({
  tag: `tag:yaml.org,2002:${tag}`,
  default: true,
  test: { test: (text: string) => numberOf(text) !== undefined } as RegExp,
  resolve: (text) => numberOf(text) ?? text,
});
const notFiniteTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  test: NOT_FINITE,
  resolve(text, onError) {
    onError(`${text} is no JSON value`);
    return null;
  },
};
const binaryTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:binary',
  default: false,
  resolve: (text) => Buffer.from(text, 'base64').toString('utf8'),
};

const stringTag: ScalarTag = { tag: 'tag:yaml.org,2002:str', default: true, resolve: (text) => text };
const TAGS: Tags = [
  'map',
  'seq',
  stringTag,
  'merge',
  nullTag,
  trueTag,
  falseTag,
  numberTag('int'),
  numberTag('float'),
  notFiniteTag,
  binaryTag,
];

/** Reads the documents of `text`, each on its own: one that is malformed does not hide the others. */
export function readYaml(text: string): {
  readonly documents: readonly YamlDocument[];
  readonly problems: readonly YamlProblem[];
} {
  const documents: YamlDocument[] = [];
  const problems: YamlProblem[] = [];
  for (const part of splitDocuments(text)) {
    if ('separator' in part) {
      problems.push({
        severity: 'error',
        line: part.line,
        message: `${JSON.stringify(part.separator)} is no document separator`,
        remedy: 'write --- alone on its line',
      });
      continue;
    }
    const read = readPart(part.text, part.line, problems);
    if (read !== undefined) documents.push(read);
  }
  return { documents, problems };
}

type Part = { readonly text: string; readonly line: number } | { readonly separator: string; readonly line: number };

function splitDocuments(text: string): Part[] {
  const parts: Part[] = [];
  let lines: string[] = [];
  let start = 1;
  const flush = (): void => {
    parts.push({ text: lines.join('\n'), line: start });
  };
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .forEach((line, index) => {
      if (!line.startsWith('---')) {
        lines.push(line);
        return;
      }
      flush();
      const rest = line.slice(3).trim();
      if (rest !== '' && !rest.startsWith('#')) parts.push({ separator: line.trim(), line: index + 1 });
      lines = [];
      start = index + 2;
    });
  flush();
  return parts;
}

function readPart(text: string, startLine: number, problems: YamlProblem[]): YamlDocument | undefined {
  const lineCounter = new LineCounter();
  const lineAt = (offset: number): number => startLine + lineCounter.linePos(offset).line - 1;
  const parsed = parseAllDocuments(text, {
    version: '1.1',
    customTags: () => TAGS,
    uniqueKeys: false,
    lineCounter,
    prettyErrors: false,
    logLevel: 'silent',
  });
  if (!Array.isArray(parsed) || parsed.length === 0) return undefined;
  const document = parsed[0] as Document.Parsed;
  const malformed = (offset: number, message: string): undefined => {
    problems.push({
      severity: 'error',
      line: lineAt(offset),
      message: `malformed YAML: ${message}`,
      remedy: 'correct the syntax',
    });
    return undefined;
  };

  const error = document.errors[0];
  if (error !== undefined) return malformed(error.pos[0], error.message.replace(/\s+/g, ' '));
  const bad = badNode(document);
  if (bad !== undefined) return malformed(bad.offset, bad.message);
  let value: unknown;
  try {
    value = document.toJS();
  } catch (cause) {
    return malformed(0, cause instanceof Error ? cause.message : String(cause));
  }
  if (value === null || value === undefined) return undefined;

  for (const repeated of repeatedKeys(document)) {
    problems.push({
      severity: 'warning',
      line: lineAt(repeated.offset),
      message: `key ${JSON.stringify(repeated.key)} is given twice and only its last value counts`,
      remedy: 'remove one of them',
    });
  }
  if (parsed.length > 1) {
    problems.push({
      severity: 'warning',
      line: lineAt((parsed[1] as Document.Parsed).range[0]),
      message: 'what follows the line "..." is not read',
      remedy: 'separate documents with ---',
    });
  }
  const line = lineAt(document.contents?.range[0] ?? 0);
  return {
    value,
    line,
    itemLine(index) {
      const item = document.getIn(['items', index], true) as { range?: readonly number[] } | undefined;
      return item?.range?.[0] === undefined ? line : lineAt(item.range[0]);
    },
  };
}

function badNode(document: Document.Parsed): { readonly offset: number; readonly message: string } | undefined {
  let found: { offset: number; message: string } | undefined;
  visit(document, {
    Pair(_, pair: Pair) {
      const key = pair.key;
      const offset = (key as { range?: readonly number[] } | null)?.range?.[0] ?? 0;
      if (isAlias(key)) return undefined;
      if (!isScalar(key)) found = { offset, message: 'a key must be a scalar' };
      else if (key.value === null) found = { offset, message: 'a key must not be null' };
      return found === undefined ? undefined : visit.BREAK;
    },
    Alias(_, alias) {
      if (alias.resolve(document) !== undefined) return undefined;
      found = { offset: alias.range?.[0] ?? 0, message: `*${alias.source} names no anchor before it` };
      return visit.BREAK;
    },
  });
  return found;
}

function repeatedKeys(document: Document.Parsed): { readonly key: string; readonly offset: number }[] {
  const repeated: { key: string; offset: number }[] = [];
  visit(document, {
    Map(_, map) {
      const seen = new Set<string>();
      for (const pair of map.items) {
        if (!isPair(pair) || !isScalar(pair.key) || isMergeKey(pair, map)) continue;
        const key = String(pair.key.value);
        if (seen.has(key)) repeated.push({ key, offset: pair.key.range?.[0] ?? 0 });
        seen.add(key);
      }
    },
  });
  return repeated;
}

function isMergeKey(pair: Pair, map: unknown): boolean {
  return isMap(map) && isScalar(pair.key) && (pair.key.source === '<<' || typeof pair.key.value === 'symbol');
}
