import type { ReplayedRequest } from './workload';

/** A part of a prompt whose content is known by its name only. */
export interface Segment {
  /** Whole, 0 to 2^32 − 1. Equal ids after equal segments mean equal text. */
  readonly id: number;
  readonly tokens: number;
}

export interface SegmentedRequest {
  /** Number of the request in its workload; tells its output from that of others. */
  readonly index: number;
  readonly segments: readonly Segment[];
  readonly outputTokens: number;
  readonly maxOutputTokens?: number;
}

/** Bytes of text per token. English has about 4; how dense a text is differs, so that a router's estimate is off as it is in life. */
const LEAST_BYTES_PER_TOKEN = 3.4;
const MOST_BYTES_PER_TOKEN = 4.6;
/** Bytes that one id spells; a segment repeats them. */
const WORD_BYTES = 8;
/** More tokens than any answer has: output keys of two requests never meet. */
const MOST_OUTPUT_BLOCKS = 2 ** 20;
/** More tokens than any segment has. */
const MOST_SEGMENT_TOKENS = 2 ** 20;

/** A request of a trace that gives identities of prompt parts and not their text. Text is made up: equal for equal ids, else different. */
export function segmentedRequest({ index, segments, outputTokens, maxOutputTokens }: SegmentedRequest): ReplayedRequest {
  const promptTokens = segments.reduce((sum, { tokens }) => sum + tokens, 0);
  return {
    thinkMs: 0,
    promptTokens,
    outputTokens,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    promptSpan: () => textOf(segments),
    blockKeys: (blockSize) => {
      // Blocks are mostly asked for in order; the segment of the last one is remembered.
      let at = 0;
      let start = 0;
      return (block) => {
        const lastToken = (block + 1) * blockSize - 1;
        if (lastToken >= promptTokens) return -(index * MOST_OUTPUT_BLOCKS + block) - 1;
        while (lastToken < start) start -= segments[--at]!.tokens;
        for (; lastToken >= start + segments[at]!.tokens; at++) start += segments[at]!.tokens;
        return segments[at]!.id * MOST_SEGMENT_TOKENS + lastToken - start;
      };
    },
  };
}

function textOf(segments: readonly Segment[]): Buffer {
  const bytes = segments.map(({ id, tokens }) => bytesOf(id, tokens));
  const text = Buffer.allocUnsafe(bytes.reduce((sum, each) => sum + each, 0));
  const word = Buffer.alloc(WORD_BYTES);
  let start = 0;
  segments.forEach(({ id }, i) => {
    const mixed = mix(id);
    for (let letter = 0; letter < WORD_BYTES; letter++) word[letter] = 0x61 + ((mixed >>> (4 * letter)) & 0xf);
    text.fill(word, start, start + bytes[i]!);
    start += bytes[i]!;
  });
  return text;
}

function bytesOf(id: number, tokens: number): number {
  const share = (Math.imul(id + 1, 0x9e3779b1) >>> 0) / 2 ** 32;
  return Math.round(tokens * (LEAST_BYTES_PER_TOKEN + share * (MOST_BYTES_PER_TOKEN - LEAST_BYTES_PER_TOKEN)));
}

/** A bijection of 32-bit numbers, so that different ids never spell the same word (finalizer of MurmurHash3 by Austin Appleby, public domain). */
function mix(id: number): number {
  let h = id | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
