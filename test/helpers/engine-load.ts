import type { EngineCore, EngineCoreOptions } from '../../runtime/simulator/engine-core';
import type { EngineOutcome, EngineRequest } from '../../runtime/simulator/engine-request';

/** A request of a test: what content its prompt shares is said by `prefix`. */
export interface LoadRequest {
  readonly atMs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Requests with equal numbers have equal prompts. */
  readonly prefix: number;
  readonly adapter?: string;
  /** When the client leaves. */
  readonly abortAtMs?: number;
}

/** What happened to one request, in order. */
export interface LoadTrace {
  readonly tokens: number[];
  outcome?: EngineOutcome;
}

export const SMALL_CORE: Omit<EngineCoreOptions, 'clock'> = {
  stepTime: { baseMs: 4, perPrefillTokenMs: 0.25, perSequenceMs: 0.5, perKvTokenMs: 0.001 },
  blockSize: 4,
  numBlocks: 41,
  maxNumSeqs: 4,
  maxNumBatchedTokens: 32,
  maxModelLen: 160,
  enablePrefixCaching: true,
  maxLoras: 1,
};

/** Hands the requests to the core at their times. @returns one trace per request. */
export function offer(core: EngineCore, clock: EngineCoreOptions['clock'], requests: readonly LoadRequest[]): LoadTrace[] {
  return requests.map((load, index) => {
    const trace: LoadTrace = { tokens: [] };
    clock.after(load.atMs, () => {
      const submission = core.submit(requestOf(load, index, trace));
      if (load.abortAtMs !== undefined) clock.after(Math.max(0, load.abortAtMs - load.atMs), () => submission.abort());
    });
    return trace;
  });
}

export function requestOf(load: LoadRequest, index: number, trace: LoadTrace): EngineRequest {
  const shared = Math.floor(load.promptTokens / SMALL_CORE.blockSize);
  return {
    id: `r${index}`,
    promptTokens: load.promptTokens,
    outputTokens: load.outputTokens,
    ...(load.adapter === undefined ? {} : { adapter: load.adapter }),
    // The prompt is shared by prefix, what is generated is the request's own.
    blockKey: (block) => (block < shared ? (load.prefix + 1) * 1000 + block : 1e9 + index * 1000 + block),
    onToken: (token, atMs) => {
      if (token !== trace.tokens.length) throw new Error(`token ${token} after ${trace.tokens.length}`);
      if (trace.outcome !== undefined) throw new Error('token after the end');
      trace.tokens.push(atMs);
    },
    onEnd: (outcome) => {
      if (trace.outcome !== undefined) throw new Error('two ends');
      trace.outcome = outcome;
    },
  };
}
