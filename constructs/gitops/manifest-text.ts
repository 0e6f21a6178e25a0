import { Yaml } from 'cdk8s';

/** Text that YAML 1.1 reads as itself without quotes, whatever stands before it: words, names, paths and image names. */
const PLAIN = /^[A-Za-z](?:[A-Za-z0-9_-]|[./](?=[A-Za-z0-9_-]))*(?::[A-Za-z0-9_-][A-Za-z0-9._-]*)?$/;
/** Words that YAML 1.1, or a reader of it, takes for a boolean, null or a number. */
const RESERVED = /^(?:y|n|yes|no|on|off|true|false|null|e[0-9]+)$/i;
/** Longer keys are written in another form. */
const LONGEST_KEY = 256;
/** Scalars that are remembered; a thousand models share most of theirs. */
const MOST_REMEMBERED = 50_000;

const rememberedValues = new Map<string, string>();
const rememberedKeys = new Map<string, string>();

/**
 * `object` as the YAML file that cdk8s would write, byte for byte, several times faster: the library builds a tree of nodes for each
 * document, and most of a manifest is words that need no quotes. Everything else is left to it, scalar by scalar.
 *
 * @param object plain JSON values, every field set.
 */
export function manifestText(object: object): string {
  if (isEmpty(object)) return Yaml.stringify(object);
  const lines: string[] = [];
  writeBlock(object, '', '', lines);
  lines.push('');
  // One join makes one flat string; concatenation would leave a tree of pieces for each file until it is written.
  return lines.join('\n');
}

/** Adds the lines of a non-empty map or list, the first after `start`, the others after `indent`. */
function writeBlock(value: object, indent: string, start: string, lines: string[]): void {
  const inner = `${indent}  `;
  let before = start;
  if (Array.isArray(value)) {
    for (const element of value as readonly unknown[]) {
      if (isBlock(element)) writeBlock(element, inner, `${before}- `, lines);
      else lines.push(`${before}- ${inlineText(element, indent, '- ')}`);
      before = indent;
    }
    return;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(fields)) {
    const child = fields[key];
    if (isBlock(child)) {
      lines.push(`${before}${keyText(key)}:`);
      writeBlock(child, inner, inner, lines);
    } else lines.push(`${before}${keyText(key)}: ${inlineText(child, indent, 'k: ')}`);
    before = indent;
  }
}

function isBlock(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isEmpty(value);
}

/** What stands on the line of its key or dash. */
function inlineText(value: unknown, indent: string, prefix: 'k: ' | '- '): string {
  if (typeof value === 'string') return stringText(value, indent, prefix);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value + 0) : scalar(value, prefix);
  if (typeof value === 'object') return Array.isArray(value) ? '[]' : '{}';
  return scalar(value, prefix);
}

function stringText(text: string, indent: string, prefix: 'k: ' | '- '): string {
  if (PLAIN.test(text) && !RESERVED.test(text)) return text;
  if (text.includes('\n')) return scalar(text, prefix).replace(/\n(?=[^\n])/g, `\n${indent}`);
  return rememberedValues.get(text) ?? remember(rememberedValues, text, scalar(text, prefix));
}

function keyText(key: string): string {
  return rememberedKeys.get(key) ?? remember(rememberedKeys, key, newKeyText(key));
}

function newKeyText(key: string): string {
  if (PLAIN.test(key) && !RESERVED.test(key)) return key;
  if (key.length > LONGEST_KEY || key.includes('\n')) throw new RangeError(`no field can have the name ${JSON.stringify(key)}`);
  return Yaml.stringify({ [key]: 0 }).slice(0, -': 0\n'.length);
}

/** As the library writes it below a key or in a list. */
function scalar(value: unknown, prefix: 'k: ' | '- '): string {
  const text = prefix === '- ' ? Yaml.stringify([value]) : Yaml.stringify({ k: value });
  return text.slice(prefix.length).replace(/\n$/, '');
}

function remember(texts: Map<string, string>, text: string, made: string): string {
  if (texts.size >= MOST_REMEMBERED) texts.clear();
  texts.set(text, made);
  return made;
}

function isEmpty(value: object): boolean {
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
}
