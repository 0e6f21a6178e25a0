import type { TokenUsage } from '../scheduling/attempts';

const USAGE = Buffer.from('"usage"');

/**
 * The last usage object in a piece of JSON text, in the words of any dialect (`prompt_tokens` or `input_tokens`, …). A string inside
 * JSON cannot be mistaken for it, since its quotes are escaped.
 *
 * @returns undefined when there is none, or when it is cut off.
 */
export function findUsage(text: Buffer): TokenUsage | undefined {
  for (let at = text.lastIndexOf(USAGE); at !== -1; at = at === 0 ? -1 : text.lastIndexOf(USAGE, at - 1)) {
    const usage = usageAt(text, at + USAGE.length);
    if (usage !== undefined) return usage;
  }
  return undefined;
}

function usageAt(text: Buffer, position: number): TokenUsage | undefined {
  // Only a colon and white space may stand between the key and its object; `"usage":null` has none.
  let start = pastSpace(text, position);
  if (text[start] !== 0x3a) return undefined;
  start = pastSpace(text, start + 1);
  if (text[start] !== 0x7b) return undefined;
  let depth = 0;
  for (let index = start; index < text.length; index++) {
    if (text[index] === 0x7b) depth += 1;
    else if (text[index] === 0x7d && --depth === 0) return parseUsage(text.toString('utf8', start, index + 1));
  }
  return undefined;
}

function pastSpace(text: Buffer, position: number): number {
  let at = position;
  while (text[at] === 0x20 || text[at] === 0x0a || text[at] === 0x0d || text[at] === 0x09) at += 1;
  return at;
}

interface WireUsage {
  readonly prompt_tokens?: unknown;
  readonly input_tokens?: unknown;
  readonly completion_tokens?: unknown;
  readonly output_tokens?: unknown;
  readonly cache_read_input_tokens?: unknown;
  readonly cache_creation_input_tokens?: unknown;
  readonly prompt_tokens_details?: { readonly cached_tokens?: unknown } | null;
  readonly input_tokens_details?: { readonly cached_tokens?: unknown } | null;
}

function parseUsage(json: string): TokenUsage | undefined {
  let wire: WireUsage;
  try {
    wire = JSON.parse(json) as WireUsage;
  } catch {
    return undefined;
  }
  const promptTokens = count(wire.prompt_tokens) ?? inputTokens(wire);
  const completionTokens = count(wire.completion_tokens) ?? count(wire.output_tokens);
  if (promptTokens === undefined && completionTokens === undefined) return undefined;
  const cachedTokens =
    count(wire.prompt_tokens_details?.cached_tokens) ??
    count(wire.input_tokens_details?.cached_tokens) ??
    count(wire.cache_read_input_tokens);
  return {
    promptTokens: promptTokens ?? 0,
    completionTokens: completionTokens ?? 0,
    ...(cachedTokens === undefined ? {} : { cachedTokens }),
  };
}

/** Messages count what was read from the cache and what was written to it apart from the other input. */
function inputTokens(wire: WireUsage): number | undefined {
  const input = count(wire.input_tokens);
  if (input === undefined) return undefined;
  return input + (count(wire.cache_read_input_tokens) ?? 0) + (count(wire.cache_creation_input_tokens) ?? 0);
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Bytes of an answer's end that are looked through for usage: engines write it after the choices. */
const TAIL_BYTES = 64 * 1024;

/** Finds the usage of an answer that is one JSON document, from its last bytes, while they pass. */
export class DocumentUsage {
  private readonly tail: Buffer[] = [];
  private bytes = 0;

  push(chunk: Buffer): void {
    this.tail.push(chunk);
    this.bytes += chunk.length;
    while (this.tail.length > 1 && this.bytes - this.tail[0]!.length >= TAIL_BYTES) this.bytes -= this.tail.shift()!.length;
  }

  find(): TokenUsage | undefined {
    return findUsage(this.tail.length === 1 ? this.tail[0]! : Buffer.concat(this.tail));
  }
}
