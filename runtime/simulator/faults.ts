/** What a test or a preview can make an engine suffer. Each stays until it is undone, or `clear`. */
export interface Faults {
  /** The engine core dies, as by SIGKILL of its process: streams get an error event, and the server ends a moment later. */
  kill(): void;
  /** The device wedges: no token more, while health stays good. Undone by `clear`. */
  hang(): void;
  /** Every step takes `factor` times as long. 1 is normal. */
  slow(factor: number): void;
  /** New connections are refused; undone by `clear`. */
  refuse(): void;
  /** Connections are cut after an answer's `tokens`-th token was sent; 0 cuts before the first. */
  cutStreamAfter(tokens: number): void;
  /** Metrics stay as they are now; undone by `clear`. */
  staleMetrics(): void;
  /** Undoes everything but `kill`. Resolves when connections are taken again. */
  clear(): Promise<void>;
}

/** The faults that the faces look at. */
export interface FaultState {
  cutAfterTokens: number | undefined;
  frozenMetrics: string | undefined;
}
