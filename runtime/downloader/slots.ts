/** Lets a bounded number of works run at a time. After one has failed none begins, and those under way can ask and end. */
export class Slots {
  private readonly waiting: (() => void)[] = [];
  private running = 0;
  private failure: { readonly error: unknown } | undefined;

  constructor(private readonly most: number) {}

  /** @throws what the first work threw that failed. */
  check(): void {
    if (this.failure !== undefined) throw this.failure.error;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= this.most) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running += 1;
    try {
      this.check();
      return await work();
    } catch (error) {
      this.failure ??= { error };
      throw error;
    } finally {
      // The place goes from hand to hand.
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }
}

/** Waits for all, and then throws what the first one threw that failed. */
export async function allEnded(works: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find((result) => result.status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}
