/** Bytes of JSON text per token: English prose has about 4.2, and a CJK character of 3 bytes is about 0.7 tokens. */
const BYTES_PER_TOKEN = 4;
/** Bytes per token of a prompt that is given as token ids, as `[9906, 11, 1917]`. */
const BYTES_PER_TOKEN_ID = 6;
/** Tokens of one image: a mean of what vision encoders make of it (Qwen2-VL: 256 to 1,280 for common sizes). */
const TOKENS_PER_IMAGE = 800;

const BASE64 = Buffer.from(';base64,');
const QUOTE = 0x22;

/**
 * Estimates the tokens of a prompt from its bytes, without a tokenizer. Images inside count by number, not by size.
 *
 * @returns at least 1.
 */
export function estimateTokens(spans: readonly Buffer[]): number {
  let tokens = 0;
  for (const span of spans) tokens += isTokenIds(span) ? span.length / BYTES_PER_TOKEN_ID : textTokens(span);
  return Math.max(1, Math.ceil(tokens));
}

function textTokens(span: Buffer): number {
  let textBytes = span.length;
  let images = 0;
  for (let at = span.indexOf(BASE64); at !== -1; at = span.indexOf(BASE64, at)) {
    const start = at + BASE64.length;
    const end = span.indexOf(QUOTE, start);
    at = end === -1 ? span.length : end;
    textBytes -= at - start;
    images += 1;
  }
  return textBytes / BYTES_PER_TOKEN + images * TOKENS_PER_IMAGE;
}

function isTokenIds(span: Buffer): boolean {
  let index = 0;
  while (index < span.length && (span[index] === 0x5b || span[index]! <= 0x20)) index += 1;
  return index > 0 && span[index] !== undefined && span[index]! >= 0x30 && span[index]! <= 0x39;
}
