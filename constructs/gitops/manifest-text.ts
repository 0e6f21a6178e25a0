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
  return isEmpty(object) ? Yaml.stringify(object) : `${block(object, '')}\n`;
}

/** A non-empty map or list, its first line without indentation. */
function block(value: object, indent: string): string {
  const lines = Array.isArray(value)
    ? value.map((element: unknown) => `- ${inline(element, `${indent}  `, '- ')}`)
    : Object.entries(value).map(([key, child]) => `${keyText(key)}:${afterKey(child, indent)}`);
  return lines.join(`\n${indent}`);
}

function afterKey(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null || isEmpty(value)) return ` ${inline(value, indent, 'k: ')}`;
  const inner = `${indent}  `;
  return `\n${inner}${block(value, inner)}`;
}

/** What stands on the line of its key or dash. */
function inline(value: unknown, indent: string, prefix: 'k: ' | '- '): string {
  if (typeof value === 'string') return stringText(value, prefix === '- ' ? indent.slice(2) : indent, prefix);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value + 0) : scalar(value, prefix);
  if (Array.isArray(value) && value.length === 0) return '[]';
  if (typeof value === 'object' && isEmpty(value)) return '{}';
  return typeof value === 'object' ? block(value, indent) : scalar(value, prefix);
}

function stringText(text: string, indent: string, prefix: 'k: ' | '- '): string {
  if (PLAIN.test(text) && !RESERVED.test(text)) return text;
  if (text.includes('\n')) return scalar(text, prefix).replace(/\n(?=[^\n])/g, `\n${indent}`);
  return remembered(rememberedValues, text, () => scalar(text, prefix));
}

function keyText(key: string): string {
  if (PLAIN.test(key) && !RESERVED.test(key)) return key;
  return remembered(rememberedKeys, key, () => {
    if (key.length > LONGEST_KEY || key.includes('\n')) throw new RangeError(`no field can have the name ${JSON.stringify(key)}`);
    return Yaml.stringify({ [key]: 0 }).slice(0, -': 0\n'.length);
  });
}

/** As the library writes it below a key or in a list. */
function scalar(value: unknown, prefix: 'k: ' | '- '): string {
  const text = prefix === '- ' ? Yaml.stringify([value]) : Yaml.stringify({ k: value });
  return text.slice(prefix.length).replace(/\n$/, '');
}

function remembered(texts: Map<string, string>, text: string, make: () => string): string {
  const known = texts.get(text);
  if (known !== undefined) return known;
  if (texts.size >= MOST_REMEMBERED) texts.clear();
  const made = make();
  texts.set(text, made);
  return made;
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}
