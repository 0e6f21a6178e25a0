import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

/** Shortest key: 128 bits in base64 without padding are 22 characters. */
const MIN_KEY_CHARACTERS = 20;
/** Visible ASCII, which is what a header carries. */
const KEY = `^[\\x21-\\x7e]{${MIN_KEY_CHARACTERS},512}$`;

const key = Type.String({ pattern: KEY, description: 'The key itself.' });
const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the key in lower-case hexadecimal.' });

const rights = {
  name: Type.Optional(Type.String({ minLength: 1, description: 'Whose usage it is; keys of one name share it.' })),
  tenant: Type.Optional(Type.String({ minLength: 1, description: 'Who shares caches and limits.' })),
  models: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), { description: 'Models that may be asked for; `*` is every model.' }),
  ),
  priorityClass: Type.Optional(Type.String({ minLength: 1, description: 'Class in which requests wait.' })),
};

const entrySchema = Type.Union([
  Type.Object({ key, ...rights }, { additionalProperties: false }),
  Type.Object({ sha256, ...rights }, { additionalProperties: false }),
]);

/** One API key, as an entry of a Secret holds it. */
export type ApiKeyEntry = Static<typeof entrySchema>;

export type DecodedApiKeyEntry =
  | { readonly kind: 'valid'; readonly entry: ApiKeyEntry }
  /** `problem` never holds a part of the value. */
  | { readonly kind: 'invalid'; readonly problem: string };

/**
 * Reads the value of one entry of a Secret with API keys: the key alone, or a JSON object with `key` or `sha256` and what the key may
 * do. White space around it does not count.
 */
export function decodeApiKeyEntry(value: string): DecodedApiKeyEntry {
  const text = value.trim();
  let entry: unknown = { key: text };
  if (text.startsWith('{')) {
    try {
      entry = JSON.parse(text);
    } catch {
      return { kind: 'invalid', problem: 'is no JSON object' };
    }
  }
  if (Value.Check(entrySchema, entry)) return { kind: 'valid', entry };
  return { kind: 'invalid', problem: problemOf(entry as Readonly<Record<string, unknown>>) };
}

function problemOf(entry: Readonly<Record<string, unknown>>): string {
  if ('key' in entry === 'sha256' in entry) return 'must have exactly one of `key` and `sha256`';
  if ('key' in entry && !Value.Check(key, entry.key)) {
    return `has a key that is not ${MIN_KEY_CHARACTERS} to 512 visible ASCII characters`;
  }
  if ('sha256' in entry && !Value.Check(sha256, entry.sha256))
    return 'has a `sha256` that is not 64 lower-case hexadecimal digits';
  const wrong = Object.keys(rights).find(
    (name) => name in entry && !Value.Check(rights[name as keyof typeof rights], entry[name]),
  );
  if (wrong !== undefined) return `has a wrong \`${wrong}\``;
  return `has a field that is none of key, sha256, ${Object.keys(rights).join(', ')}`;
}
