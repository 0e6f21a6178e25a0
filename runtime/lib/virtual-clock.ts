import type { Clock, Timer } from './clock';

interface Entry {
  readonly at: number;
  readonly order: number;
  callback: (() => void) | undefined;
}

/** A clock that moves only when told to: to the next timer, or to a given time. Timers of one instant run in the order they were set. */
export class VirtualClock implements Clock {
  private current = 0;
  private order = 0;
  private readonly heap: Entry[] = [];

  /** @param epochMs what `now()` says at the start. */
  constructor(private readonly epochMs = 0) {}

  now(): number {
    return this.epochMs + this.current;
  }

  monotonic(): number {
    return this.current;
  }

  after(delayMs: number, callback: () => void): Timer {
    const entry: Entry = { at: this.current + Math.max(0, delayMs), order: this.order++, callback };
    this.push(entry);
    return {
      cancel: () => {
        entry.callback = undefined;
      },
    };
  }

  /** Moves to the next timer and runs it. @returns false when no timer is left. */
  step(): boolean {
    for (;;) {
      const entry = this.pop();
      if (entry === undefined) return false;
      if (entry.callback === undefined) continue;
      this.current = Math.max(this.current, entry.at);
      entry.callback();
      return true;
    }
  }

  /** Runs timers until none is left. @param limit most timers to run, against a loop that never ends. */
  runToEnd(limit = Number.POSITIVE_INFINITY): void {
    for (let count = 0; count < limit && this.step(); count++);
  }

  /** Runs all timers that are due within `ms` and leaves the clock exactly there. */
  advance(ms: number): void {
    const end = this.current + ms;
    for (let next = this.peek(); next !== undefined && next.at <= end; next = this.peek()) this.step();
    this.current = end;
  }

  private peek(): Entry | undefined {
    while (this.heap.length > 0 && this.heap[0]!.callback === undefined) this.pop();
    return this.heap[0];
  }

  private push(entry: Entry): void {
    const { heap } = this;
    let child = heap.push(entry) - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!before(entry, heap[parent]!)) break;
      heap[child] = heap[parent]!;
      child = parent;
    }
    heap[child] = entry;
  }

  private pop(): Entry | undefined {
    const { heap } = this;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let parent = 0;
    for (;;) {
      let child = 2 * parent + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child += 1;
      if (!before(heap[child]!, last)) break;
      heap[parent] = heap[child]!;
      parent = child;
    }
    heap[parent] = last;
    return top;
  }
}

function before(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
