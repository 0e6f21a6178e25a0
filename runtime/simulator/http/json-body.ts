/** A request body as a JSON value, or why it is none. */
export type JsonBody =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'empty' }
  | { readonly kind: 'wrong-content-type' }
  /** Where the text stops being JSON, in characters. */
  | { readonly kind: 'invalid'; readonly position: number };

export function readJson(body: Buffer, contentType: string | undefined): JsonBody {
  const type = (contentType ?? '').split(';')[0]!.trim().toLowerCase();
  if (type !== 'application/json') return { kind: 'wrong-content-type' };
  const text = body.toString('utf8');
  if (text === '') return { kind: 'empty' };
  try {
    return { kind: 'json', value: JSON.parse(text) };
  } catch (error) {
    const position = /position (\d+)/.exec((error as Error).message)?.[1];
    return { kind: 'invalid', position: position === undefined ? text.length : Number(position) };
  }
}

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
