/** Requests that run, by their id: those that can be aborted by it. */
export class RunningRequests {
  private readonly aborts = new Map<string, Set<() => void>>();

  /** @returns forgets it. */
  add(id: string, abort: () => void): () => void {
    const set = this.aborts.get(id) ?? new Set();
    this.aborts.set(id, set.add(abort));
    return () => {
      set.delete(abort);
      if (set.size === 0) this.aborts.delete(id);
    };
  }

  /** @param id undefined for all. */
  abort(id: string | undefined): void {
    const sets = id === undefined ? [...this.aborts.values()] : [this.aborts.get(id) ?? new Set<() => void>()];
    for (const set of sets) for (const abort of [...set]) abort();
  }
}
