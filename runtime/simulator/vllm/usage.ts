import type { Generation } from '../generation';
import type { VllmDialect } from './dialect';

/** Token counts of one request over all its choices. */
export interface TokenCounts {
  readonly prompt: number;
  readonly completion: number;
  readonly cached: number;
  /** Prompt tokens in blocks that the request added to the prefix cache by its own computation. */
  readonly created: number;
}

/** @param firsts the first choice of each prompt: choices share their prompt. */
export function countTokens(firsts: readonly Generation[], completion: number): TokenCounts {
  let [prompt, cached, created] = [0, 0, 0];
  for (const { promptTokens, cachedTokens = 0, input } of firsts) {
    prompt += promptTokens;
    // Recorded: of several prompts, only the last one's count.
    cached = cachedTokens;
    const isFetched = input.handOff?.cachedTokens !== undefined;
    if (!isFetched) created += Math.max(0, Math.floor(promptTokens / input.blockSize) * input.blockSize - cachedTokens);
  }
  return { prompt, completion, cached, created };
}

function counts({ prompt, completion }: TokenCounts): object {
  return { prompt_tokens: prompt, total_tokens: prompt + completion, completion_tokens: completion };
}

/** `usage` of an answer in one piece. */
export function wholeUsage(
  tokens: TokenCounts,
  dialect: VllmDialect,
  reportsCached: boolean,
  endpoint: 'chat' | 'completions',
): object {
  if (!dialect.isRecent) {
    return {
      ...counts(tokens),
      prompt_tokens_details: reportsCached && tokens.cached > 0 ? { cached_tokens: tokens.cached } : null,
    };
  }
  const created = endpoint === 'chat' ? tokens.created : null;
  const details = { cached_tokens: tokens.cached, created_cache_tokens: created, multimodal_tokens: null };
  return { ...counts(tokens), prompt_tokens_details: reportsCached ? details : null, completion_tokens_details: null };
}

/** `usage` of a stream's last event. */
export function finalUsage(tokens: TokenCounts, dialect: VllmDialect, reportsCached: boolean): object {
  if (!reportsCached || (!dialect.isRecent && tokens.cached === 0)) return counts(tokens);
  const created = dialect.isRecent ? { created_cache_tokens: tokens.created } : {};
  return { ...counts(tokens), prompt_tokens_details: { cached_tokens: tokens.cached, ...created } };
}

/** `usage` of every event when `continuous_usage_stats` asks for it. */
export function runningUsage(tokens: TokenCounts, dialect: VllmDialect, endpoint: 'chat' | 'completions'): object {
  if (dialect.isRecent && endpoint === 'chat') return { ...counts(tokens), completion_tokens_details: null };
  if (!dialect.isRecent && endpoint === 'completions') return { ...counts(tokens), prompt_tokens_details: null };
  return counts(tokens);
}
