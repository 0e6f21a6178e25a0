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

  /** Requests in flight. */
  get running(): number {
    return this.open;
  }

  /** Tokens of KV cache that the requests in flight are expected to hold. */
  get kvTokens(): number {
    return this.kv;
  }

  /** Uncached tokens sent and not yet prefilled. @param tokensPerSecond the endpoint's prefill rate, above 0. */
  queuedTokens(nowMs: number, tokensPerSecond: number): number {
    this.advance(nowMs, tokensPerSecond);
    let tokens = 0;
    for (const entry of this.queue) tokens += entry.tokens;
    return tokens;
  }

  dispatch({ uncachedTokens, kvTokens }: LedgerDispatch, nowMs: number): LedgerEntry {
    const entry: Queued = { tokens: uncachedTokens };
    if (this.queue.length === 0) this.headStartMs = nowMs;
    this.queue.push(entry);
    this.open += 1;
    this.kv += kvTokens;
    let isOpen = true;
    return {
      prefilled: (atMs) => this.leave(entry, atMs),
      close: (atMs) => {
        if (!isOpen) return;
        isOpen = false;
        this.leave(entry, atMs);
        this.open -= 1;
        this.kv = this.open === 0 ? 0 : this.kv - kvTokens;
      },
    };
  }

  private leave(entry: Queued, nowMs: number): void {
    const at = this.queue.indexOf(entry);
    if (at < 0) return;
    if (at === 0) this.headStartMs = nowMs;
    this.queue.splice(at, 1);
  }

  private advance(nowMs: number, tokensPerSecond: number): void {
    for (let head = this.queue[0]; head !== undefined; head = this.queue[0]) {
      const endMs = this.headStartMs + (1000 * head.tokens) / tokensPerSecond;
      if (!(endMs <= nowMs)) return;
      this.headStartMs = endMs;
      this.queue.shift();
    }
  }
}
