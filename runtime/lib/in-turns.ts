import { setImmediate as nextTurn } from 'node:timers/promises';

/** Visits items a few in a turn of the event loop, so that whatever else goes on is not held up. @param perTurn ≥ 1. */
export async function inTurns<T>(items: readonly T[], perTurn: number, visit: (item: T) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % perTurn === 0) await nextTurn();
    visit(item);
  }
}
