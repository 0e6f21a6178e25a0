/** One dispatch as its endpoint's ledger sees it. */
export interface LedgerEntry {
  /** The first token arrived: its prompt is no longer waiting for prefill. */
  prefilled(nowMs: number): void;
  /** The dispatch ended, however it did. Later calls do nothing. */
  close(nowMs: number): void;
}

export interface LedgerDispatch {
  /** Prompt tokens that the endpoint is expected to compute. */
  readonly uncachedTokens: number;
  /** Tokens of KV cache that the request is expected to hold. */
  readonly kvTokens: number;
  /** Tokens that its decode attends to, found in a cache or not. @default kvTokens */
  readonly contextTokens?: number;
}

interface Queued {
  tokens: number;
}

/**
 * What this router has sent to one endpoint and not yet seen answered. Prompts wait in order of dispatch, on a virtual clock that
 * prefills at the endpoint's rate: an entry leaves at its first token or at its modelled end of prefill, whichever is first, since
 * answers that do not stream show no first token.
 */
export class InFlightLedger {
  private readonly queue: Queued[] = [];
  private headStartMs = 0;
  private open = 0;
  private kv = 0;
  private context = 0;
  private kept = 0;
  private left = 0;
  /** Called when something left: a prompt the queue, or a request the endpoint. Set while somebody waits for that. */
  released: (() => void) | undefined;

  /** Requests in flight. */
  get running(): number {
    return this.open;
  }

  /** Tokens of KV cache that the requests in flight are expected to hold, and those that are kept for nobody. */
  get kvTokens(): number {
    return this.kv + this.kept;
  }

  /** Tokens that the decodes of the requests in flight attend to. */
  get contextTokens(): number {
    return this.context;
  }

  /** Uncached tokens that left the queue since the start: what the endpoint prefilled, as far as is known. */
  get prefilledTokens(): number {
    return this.left;
  }

  /** Uncached tokens sent and not yet prefilled. @param tokensPerSecond the endpoint's prefill rate, above 0. */
  queuedTokens(nowMs: number, tokensPerSecond: number): number {
    this.advance(nowMs, tokensPerSecond);
    let tokens = 0;
    for (const entry of this.queue) tokens += entry.tokens;
    return tokens;
  }

  /** Milliseconds until fewer than `tokens` are queued if nothing but the virtual clock takes any away. 0 when that is so now. */
  msUntilQueuedBelow(tokens: number, nowMs: number, tokensPerSecond: number): number {
    let queued = this.queuedTokens(nowMs, tokensPerSecond);
    let atMs = this.headStartMs;
    for (const entry of this.queue) {
      if (queued < tokens) break;
      atMs += (1000 * entry.tokens) / tokensPerSecond;
      queued -= entry.tokens;
    }
    return Math.max(0, atMs - nowMs);
  }

  dispatch({ uncachedTokens, kvTokens, contextTokens = kvTokens }: LedgerDispatch, nowMs: number): LedgerEntry {
    const entry: Queued = { tokens: uncachedTokens };
    if (this.queue.length === 0) this.headStartMs = nowMs;
    this.queue.push(entry);
    this.open += 1;
    this.kv += kvTokens;
    this.context += contextTokens;
    let isOpen = true;
    return {
      prefilled: (atMs) => {
        if (this.leave(entry, atMs)) this.released?.();
      },
      close: (atMs) => {
        if (!isOpen) return;
        isOpen = false;
        this.leave(entry, atMs);
        this.open -= 1;
        this.kv = this.open === 0 ? 0 : this.kv - kvTokens;
        this.context = this.open === 0 ? 0 : this.context - contextTokens;
        this.released?.();
      },
    };
  }

  /** The engine keeps KV of a request that is over. @returns says that it no longer does; to be called once. */
  keep(kvTokens: number): () => void {
    this.kept += kvTokens;
    return () => {
      this.kept -= kvTokens;
    };
  }

  /** @returns whether it was still queued. */
  private leave(entry: Queued, nowMs: number): boolean {
    const at = this.queue.indexOf(entry);
    if (at < 0) return false;
    if (at === 0) this.headStartMs = nowMs;
    this.queue.splice(at, 1);
    this.left += entry.tokens;
    return true;
  }

  private advance(nowMs: number, tokensPerSecond: number): void {
    for (let head = this.queue[0]; head !== undefined; head = this.queue[0]) {
      const endMs = this.headStartMs + (1000 * head.tokens) / tokensPerSecond;
      if (!(endMs <= nowMs)) return;
      this.headStartMs = endMs;
      this.queue.shift();
      this.left += head.tokens;
    }
  }
}
