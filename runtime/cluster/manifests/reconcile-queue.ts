/**
 * Keys that need a look, each once however often it was asked for. A look runs in a later turn and sees the state of then, so it does
 * not matter which changes led to it, nor how many.
 */
export class ReconcileQueue {
  private readonly keys = new Set<string>();
  private turn: NodeJS.Immediate | undefined;
  private isClosed = false;

  constructor(
    private readonly reconcile: (key: string) => void,
    /** Called whenever no key is left. */
    private readonly onIdle: () => void,
  ) {}

  add(key: string): void {
    if (this.isClosed) return;
    this.keys.add(key);
    this.turn ??= setImmediate(() => this.run());
  }

  /** Looks at all keys now, and at those that this leads to. */
  flush(): void {
    while (this.turn !== undefined) {
      clearImmediate(this.turn);
      this.run();
    }
  }

  isIdle(): boolean {
    return this.turn === undefined;
  }

  close(): void {
    this.isClosed = true;
    this.keys.clear();
    if (this.turn !== undefined) clearImmediate(this.turn);
    this.turn = undefined;
  }

  private run(): void {
    const keys = [...this.keys];
    this.keys.clear();
    this.turn = undefined;
    for (const key of keys) this.reconcile(key);
    if (this.isIdle()) this.onIdle();
  }
}
