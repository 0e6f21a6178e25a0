/** Gives the data-parallel ranks of a pod their turns. */
export class RankTurns {
  private readonly last = new Map<string, number>();

  /** @param ranks of the pod, ≥ 1. @returns 0 to `ranks` − 1. */
  next(endpointId: string, ranks: number): number {
    if (ranks === 1) return 0;
    const rank = ((this.last.get(endpointId) ?? -1) + 1) % ranks;
    this.last.set(endpointId, rank);
    return rank;
  }

  forget(endpointId: string): void {
    this.last.delete(endpointId);
  }
}
