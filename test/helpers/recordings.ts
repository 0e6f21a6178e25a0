import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAnswer, type RawAnswer } from './raw-http';

const ENGINES = join(__dirname, '../fixtures/engines');

export const MODEL_FOLDER = join(ENGINES, 'model');

export interface Recording {
  readonly request: Buffer;
  readonly answer: RawAnswer;
}

/** An exchange that was recorded from a real engine. */
export function recording(folder: string, name: string): Recording {
  const request = readFileSync(join(ENGINES, folder, `${name}.req.http`));
  const method = request.toString('latin1').split(' ')[0]!;
  return { request, answer: parseAnswer(readFileSync(join(ENGINES, folder, `${name}.resp.http`)), method) };
}

/** Names of all exchanges that were recorded from an instance, of which the fixtures hold the covered ones. */
export function recordedNames(folder: string, index: string): readonly string[] {
  const entries = JSON.parse(readFileSync(join(ENGINES, folder, index), 'utf8')) as readonly { readonly name: string }[];
  return entries.map(({ name }) => name);
}

export function hasRecording(folder: string, name: string): boolean {
  return existsSync(join(ENGINES, folder, `${name}.resp.http`));
}

/** Headers in which a client can see a difference. */
export function headersThatMatter({ headers }: RawAnswer): Readonly<Record<string, string | boolean>> {
  const names = [
    'content-type',
    'vary',
    'allow',
    'transfer-encoding',
    'access-control-allow-origin',
    'access-control-allow-methods',
    'server',
  ];
  const found = Object.fromEntries(names.filter((name) => headers[name] !== undefined).map((name) => [name, headers[name]!]));
  return { ...found, hasLength: headers['content-length'] !== undefined };
}

/** Names whose keys are tokens of the model, which another model has not. */
const TOKEN_KEYED = new Set(['top_logprobs', 'prompt_logprobs']);

/** Keys in order and types, recursively, without the values. */
export function shapeOf(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) {
    if (value.every((element) => typeof element !== 'object' || element === null) && !TOKEN_KEYED.has(name)) {
      return [...new Set(value.map((element) => typeof element))].sort();
    }
    return value.map((element) => shapeOf(element, name));
  }
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  const entries = Object.entries(value);
  if (TOKEN_KEYED.has(name) && !('logprob' in value)) return entries.map(([, element]) => shapeOf(element));
  return entries.map(([key, element]) => [key, shapeOf(element, key)]);
}

/** The events of a stream as values; `[DONE]` stays a text. */
export function eventsOf({ chunks }: RawAnswer): readonly unknown[] {
  return chunks.map((chunk) => {
    const match = /^data: (.*)\n\n$/s.exec(chunk);
    if (match === null) throw new Error(`a chunk is not one event: ${chunk}`);
    return match[1] === '[DONE]' ? '[DONE]' : JSON.parse(match[1]!);
  });
}
