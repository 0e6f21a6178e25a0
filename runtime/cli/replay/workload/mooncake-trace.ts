import type { TracedRequest } from './traced-request';

/** Tokens that one hash id of a Mooncake trace stands for. */
export const MOONCAKE_BLOCK_TOKENS = 512;

interface MooncakeLine {
  readonly timestamp: number;
  readonly input_length: number;
  readonly output_length: number;
  readonly hash_ids: readonly number[];
}

/** Whether a parsed line is one of a Mooncake trace, whose hash ids stand for a block and everything before it. */
export function isMooncakeLine(line: unknown): line is MooncakeLine {
  if (typeof line !== 'object' || line === null) return false;
  const { timestamp, input_length, output_length, hash_ids } = line as Partial<Record<keyof MooncakeLine, unknown>>;
  return (
    isCount(timestamp, 0) &&
    isCount(input_length, 1) &&
    isCount(output_length, 1) &&
    Array.isArray(hash_ids) &&
    hash_ids.every((id) => isCount(id, 0)) &&
    hash_ids.length * MOONCAKE_BLOCK_TOKENS <= input_length + MOONCAKE_BLOCK_TOKENS
  );
}

/** @param index of the line; tokens that no hash id covers are the request's own. */
export function mooncakeRequest(
  { timestamp, input_length: promptTokens, output_length: outputTokens, hash_ids: ids }: MooncakeLine,
  index: number,
): TracedRequest {
  const segments = ids.map((id, i) => ({
    id,
    tokens: Math.min(MOONCAKE_BLOCK_TOKENS, promptTokens - i * MOONCAKE_BLOCK_TOKENS),
  }));
  const rest = promptTokens - ids.length * MOONCAKE_BLOCK_TOKENS;
  if (rest > 0) segments.push({ id: 2 ** 32 - 1 - index, tokens: rest });
  return { atMs: timestamp, segments: segments.filter(({ tokens }) => tokens > 0), outputTokens };
}

function isCount(value: unknown, least: number): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= least;
}
