/** Columns that a line may have, as formatters are set by most. */
export const WIDTH = 120;
const INDENT = '  ';
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** An expression that is written as it is, such as a variable's name. */
export class Expression {
  constructor(readonly text: string) {}
}

/**
 * A JSON value as a TypeScript literal: on one line where it fits, else a line per field. Text of several lines is a list of its lines.
 *
 * @param column where the literal begins on its line.
 */
export function typescriptLiteral(value: unknown, indent = '', column = indent.length): string {
  const inline = onOneLine(value);
  if (inline !== undefined && column + inline.length <= WIDTH) return inline;
  const inner = indent + INDENT;
  if (typeof value === 'string' && value.includes('\n')) {
    const lines = value.split('\n').map((line) => `${inner}${quoted(line)},\n`);
    return `[\n${lines.join('')}${indent}].join('\\n')`;
  }
  if (Array.isArray(value)) {
    const elements = value.map((element) => `${inner}${typescriptLiteral(element, inner)},\n`);
    return `[\n${elements.join('')}${indent}]`;
  }
  if (isPlainObject(value)) {
    const fields = Object.entries(value).map(([key, field]) => {
      const name = `${inner}${keyText(key)}: `;
      return `${name}${typescriptLiteral(field, inner, name.length + 1)},\n`;
    });
    return `{\n${fields.join('')}${indent}}`;
  }
  return inline ?? 'null';
}

/** @returns undefined for text of several lines, alone or inside. */
function onOneLine(value: unknown): string | undefined {
  if (value instanceof Expression) return value.text;
  if (typeof value === 'string') return value.includes('\n') ? undefined : quoted(value);
  if (Array.isArray(value)) {
    const elements = value.map(onOneLine);
    return elements.includes(undefined) ? undefined : `[${elements.join(', ')}]`;
  }
  if (!isPlainObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, field]) => {
    const text = onOneLine(field);
    return text === undefined ? undefined : `${keyText(key)}: ${text}`;
  });
  if (fields.includes(undefined)) return undefined;
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof Expression);
}

function keyText(key: string): string {
  // Unquoted or quoted it would set the prototype.
  if (key === '__proto__') return "['__proto__']";
  return IDENTIFIER.test(key) ? key : quoted(key);
}

/** A string in single quotes, or in double quotes where that needs fewer escapes. */
export function quoted(text: string): string {
  const json = JSON.stringify(text).replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
  if (text.includes("'") && !text.includes('"')) return json;
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
