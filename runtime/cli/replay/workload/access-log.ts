import type { AccessRecord } from '../../../router/observability/access-record';
import { MOONCAKE_BLOCK_TOKENS } from './mooncake-trace';
import type { TracedRequest } from './traced-request';

type LoggedLine = Pick<AccessRecord, 'timestamp' | 'status_code' | 'model_name'> & Partial<AccessRecord>;

/** Whether a parsed line is one of Kvasir's JSON access log. */
export function isAccessLogLine(line: unknown): line is LoggedLine {
  if (typeof line !== 'object' || line === null) return false;
  const { timestamp, status_code, model_name } = line as Partial<Record<keyof AccessRecord, unknown>>;
  return (
    typeof timestamp === 'string' &&
    !Number.isNaN(Date.parse(timestamp)) &&
    typeof status_code === 'number' &&
    typeof model_name === 'string'
  );
}

/** Reads access log lines. The log has no prompt text, so who shares a prefix with whom is taken from what was found in caches. */
export class LoggedRequests {
  private readonly prefixes = new Map<string, number>();

  /**
   * A logged request: its `cached_tokens` are taken as the beginning that all requests of its model share, the rest as its own.
   *
   * @param index of the line.
   * @returns undefined for a request that no engine answered.
   */
  request(line: LoggedLine, index: number): TracedRequest | undefined {
    const { input_tokens: promptTokens = 0, output_tokens: outputTokens = 0, cached_tokens: cached = 0 } = line;
    if (line.status_code !== 200 || promptTokens < 1 || outputTokens < 1) return undefined;
    const prefix = this.prefixes.get(line.model_name) ?? this.prefixes.size;
    this.prefixes.set(line.model_name, prefix);
    const shared = Math.min(Math.max(0, cached), promptTokens - 1);
    const segments = [];
    for (let start = 0; start < shared; start += MOONCAKE_BLOCK_TOKENS) {
      // Ids of the shared beginnings are spread over the lower half, those of requests over the upper one.
      const id = prefix * 2 ** 12 + start / MOONCAKE_BLOCK_TOKENS;
      segments.push({ id, tokens: Math.min(MOONCAKE_BLOCK_TOKENS, shared - start) });
    }
    segments.push({ id: 2 ** 32 - 1 - index, tokens: promptTokens - shared });
    return { atMs: Date.parse(line.timestamp), segments, outputTokens };
  }
}
