import fc from 'fast-check';
import { BlockHasher, type BlockHashes, bytesOfBlocks } from '../../../../runtime/router/cache/block-hashes';
import { BYTES_PER_ENTRY } from '../../../../runtime/router/cache/block-table';
import { PrefixIndex, type PrefixReservation } from '../../../../runtime/router/cache/prefix-index';

/** The specification in its plainest form: per slot an array of blocks from least to most recently used. */
class NaiveIndex {
  private readonly slots = new Map<number, { share: number; blocks: NaiveBlock[] }>();

  private of(slot: number): { share: number; blocks: NaiveBlock[] } {
    if (!this.slots.has(slot)) this.slots.set(slot, { share: 0, blocks: [] });
    return this.slots.get(slot)!;
  }

  setShare(slot: number, share: number): void {
    const state = this.of(slot);
    if (state.share === share) return;
    state.share = share;
    while (held(state.blocks) > share) state.blocks.shift();
  }

  lookup(path: readonly string[], slot: number): number {
    const names = new Set(this.of(slot).blocks.map((block) => block.name));
    let depth = 0;
    while (depth < path.length && names.has(path[depth]!)) depth += 1;
    return bytesOfBlocks(depth);
  }

  reserve(path: readonly string[], slot: number): PrefixReservation {
    const state = this.of(slot);
    const mine: NaiveBlock[] = [];
    for (let i = path.length - 1; i >= 0; i--) {
      const at = state.blocks.findIndex((block) => block.name === path[i]);
      const bytes = bytesOfBlocks(i + 1) - bytesOfBlocks(i);
      if (at < 0 && bytes > state.share) continue;
      if (at < 0) while (held(state.blocks) + bytes > state.share) state.blocks.shift();
      const block = at < 0 ? { name: path[i]!, bytes, pending: 0, isConfirmed: false } : state.blocks.splice(at, 1)[0]!;
      state.blocks.push(block);
      block.pending += 1;
      mine.push(block);
    }
    let isOpen = true;
    const close = (isConfirmed: boolean): void => {
      if (!isOpen) return;
      isOpen = false;
      for (const block of mine) {
        block.pending -= 1;
        if (isConfirmed) block.isConfirmed = true;
        if (!block.isConfirmed && block.pending === 0) this.drop(slot, block);
      }
    };
    return { confirm: () => close(true), withdraw: () => close(false) };
  }

  purge(slot: number): void {
    this.slots.delete(slot);
  }

  heldBytes(slot: number): number {
    return held(this.of(slot).blocks);
  }

  private drop(slot: number, block: NaiveBlock): void {
    const { blocks } = this.of(slot);
    const at = blocks.indexOf(block);
    if (at >= 0) blocks.splice(at, 1);
  }
}

interface NaiveBlock {
  readonly name: string;
  readonly bytes: number;
  pending: number;
  isConfirmed: boolean;
}

function held(blocks: readonly NaiveBlock[]): number {
  return blocks.reduce((sum, block) => sum + block.bytes, 0);
}

/** Prompts as paths over a small alphabet: block i is one letter repeated, so prefixes are shared often. */
function textOf(letters: readonly number[]): Uint8Array {
  const text = new Uint8Array(bytesOfBlocks(letters.length));
  for (const [i, letter] of letters.entries()) text.fill(97 + letter, bytesOfBlocks(i), bytesOfBlocks(i + 1));
  return text;
}

const SLOTS = [0, 3, 70];
const slotOf = fc.constantFrom(...SLOTS);
const letters = fc.array(fc.integer({ min: 0, max: 1 }), { maxLength: 6 });
const command = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('reserve' as const), slot: slotOf, letters }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('confirm' as const), which: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('share' as const), slot: slotOf, blocks: fc.nat(10) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('purge' as const), slot: slotOf }) },
);

describe('the prefix index', () => {
  let hasher: BlockHasher;
  const hashesOf = (path: readonly number[]): BlockHashes => hasher.hash({ model: 'm' }, [textOf(path)]);
  const lookup = (index: PrefixIndex, path: readonly number[], slots: readonly number[]): number[] => {
    const out = new Float64Array(slots.length);
    index.lookup(hashesOf(path), slots, out);
    return [...out];
  };

  beforeAll(async () => {
    hasher = new BlockHasher();
  });

  it('agrees with a naive model over any sequence of reservations, confirmations, withdrawals, share changes and purges', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60 }), letters, (commands, probe) => {
        const index = new PrefixIndex(1_000_000);
        const naive = new NaiveIndex();
        const open: [PrefixReservation, PrefixReservation][] = [];
        for (const slot of SLOTS) {
          index.setShare(slot, 8 * 256);
          naive.setShare(slot, 8 * 256);
        }
        const pathOf = (from: readonly number[]): string[] => from.map((_, i) => from.slice(0, i + 1).join(''));
        for (const each of commands) {
          if (each.kind === 'reserve') {
            open.push([index.reserve(hashesOf(each.letters), each.slot), naive.reserve(pathOf(each.letters), each.slot)]);
          } else if (each.kind === 'share') {
            for (const model of [index, naive]) model.setShare(each.slot, each.blocks * 256);
          } else if (each.kind === 'purge') {
            for (const model of [index, naive]) model.purge(each.slot);
            for (const model of [index, naive]) model.setShare(each.slot, 8 * 256);
          } else {
            for (const reservation of open[each.which % Math.max(1, open.length)] ?? []) reservation[each.kind]();
          }
          for (const path of [probe, [0, 0, 0, 0, 0, 0], [1, 0, 1]]) {
            expect(lookup(index, path, SLOTS)).toEqual(SLOTS.map((slot) => naive.lookup(pathOf(path), slot)));
          }
          for (const slot of SLOTS) expect(index.heldBytes(slot)).toBe(naive.heldBytes(slot));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('counts a dispatch at once and forgets it when it fails before its first token', () => {
    const index = new PrefixIndex(1_000_000);
    index.setShare(0, 10_000);
    const reservation = index.reserve(hashesOf([0, 1, 0]), 0);
    expect(lookup(index, [0, 1, 1], [0])).toEqual([512]);
    reservation.withdraw();
    expect(lookup(index, [0, 1, 1], [0])).toEqual([0]);
    expect(index.stats().blocks).toBe(0);
  });

  it('keeps a block that a second dispatch also put there when the first is withdrawn', () => {
    const index = new PrefixIndex(1_000_000);
    index.setShare(0, 10_000);
    const first = index.reserve(hashesOf([0, 0]), 0);
    index.reserve(hashesOf([0, 1]), 0).confirm();
    first.withdraw();
    expect(lookup(index, [0, 1], [0])).toEqual([512]);
    expect(lookup(index, [0, 0], [0])).toEqual([256]);
  });

  it('forgets the end of a prompt before its beginning', () => {
    const index = new PrefixIndex(1_000_000);
    index.setShare(0, 4 * 256);
    index.reserve(hashesOf([0, 0, 0]), 0).confirm();
    index.reserve(hashesOf([1, 1]), 0).confirm();
    expect(lookup(index, [0, 0, 0], [0])).toEqual([512]);
    expect(lookup(index, [1, 1], [0])).toEqual([512]);
  });

  it('keeps the beginning of a prompt that is larger than the share', () => {
    const index = new PrefixIndex(1_000_000);
    index.setShare(0, 2 * 256);
    index.reserve(hashesOf([0, 1, 0, 1, 0]), 0).confirm();
    expect(lookup(index, [0, 1, 0, 1, 0], [0])).toEqual([512]);
  });

  it('holds a slot free of its predecessor after a purge, and ignores what predecessors settle late', () => {
    const index = new PrefixIndex(1_000_000);
    index.setShare(0, 10_000);
    const late = index.reserve(hashesOf([0, 0]), 0);
    index.purge(0);
    index.setShare(0, 10_000);
    index.reserve(hashesOf([0, 0]), 0).confirm();
    late.withdraw();
    expect(lookup(index, [0, 0], [0])).toEqual([512]);
  });

  it('shrinks all shares alike at its byte bound and says so', () => {
    const index = new PrefixIndex(100 * BYTES_PER_ENTRY);
    const rounds = 40;
    for (const slot of [0, 1]) index.setShare(slot, 200 * 256);
    for (let i = 0; i < rounds; i++) {
      const path = [...i.toString(2).padStart(6, '0')].map(Number);
      for (const slot of [0, 1]) index.reserve(hashesOf(path), slot).confirm();
    }
    expect(index.stats().blocks).toBeLessThanOrEqual(100);
    expect(index.stats().shareScale).toBeLessThan(1);
    const [a, b] = [index.heldBytes(0), index.heldBytes(1)];
    expect(Math.abs(a - b)).toBeLessThanOrEqual(6 * 256);
    index.purge(1);
    expect(index.stats().shareScale).toBe(1);
  });

  it('finds every block of many, whatever their hashes, after removals in between', () => {
    const index = new PrefixIndex(10_000_000);
    index.setShare(0, 1e9);
    index.setShare(1, 1e9);
    const paths = Array.from({ length: 500 }, (_, i) => [...i.toString(2).padStart(12, '0')].map(Number));
    for (const path of paths) index.reserve(hashesOf(path), 0).confirm();
    const withdrawn = paths.filter((_, i) => i % 3 === 0).map((path) => index.reserve(hashesOf(path), 1));
    for (const reservation of withdrawn) reservation.withdraw();
    for (const path of paths) expect(lookup(index, path, [0, 1])).toEqual([12 * 256, 0]);
  });

  it('tells the most recently used blocks of a slot first, in parts, and restores them in another index as they were', () => {
    const [index, copy] = [new PrefixIndex(1_000_000), new PrefixIndex(1_000_000)];
    for (const each of [index, copy]) each.setShare(0, 100_000);
    for (let i = 0; i < 20; i++) index.reserve(hashesOf([...i.toString(2).padStart(6, '0')].map(Number)), 0).confirm();
    const unknown = [1, 1, 1, 1, 1, 1];
    index.reserve(hashesOf(unknown), 0);
    for (let cursor = index.newest(0); cursor !== undefined; ) {
      const { runs, next } = index.recent(cursor, 7);
      for (const { words, blockBytes } of runs) copy.restore(0, words, blockBytes);
      cursor = next;
    }
    const known = index.heldBytes(0) - 6 * 256;
    expect(copy.heldBytes(0)).toBe(known);
    expect(lookup(copy, unknown, [0])).toEqual([0]);
    for (const each of [index, copy]) each.setShare(0, 12 * 256);
    for (const path of [
      [0, 1, 0, 0, 1, 1],
      [0, 0, 0, 0, 0, 1],
    ]) {
      expect(lookup(copy, path, [0])[0]).toBeGreaterThanOrEqual(lookup(index, path, [0])[0]!);
    }
  });

  it('restores nothing in place of what it has itself, and nothing beyond the share', () => {
    const [index, other] = [new PrefixIndex(1_000_000), new PrefixIndex(1_000_000)];
    other.setShare(0, 100_000);
    other.reserve(hashesOf([1, 1, 1, 1, 1, 1]), 0).confirm();
    index.setShare(0, 8 * 256);
    index.reserve(hashesOf([0, 0, 0, 0, 0, 0]), 0).confirm();
    for (const { words, blockBytes } of other.recent(other.newest(0)!, 100).runs) index.restore(0, words, blockBytes);
    expect(lookup(index, [0, 0, 0, 0, 0, 0], [0])).toEqual([6 * 256]);
    expect(lookup(index, [1, 1, 1, 1, 1, 1], [0])).toEqual([2 * 256]);
    index.reserve(hashesOf([0, 0, 0, 1]), 0).confirm();
    expect(lookup(index, [0, 0, 0, 0, 0, 0], [0])).toEqual([6 * 256]);
    expect(lookup(index, [1, 1, 1, 1, 1, 1], [0])).toEqual([256]);
  });

  it('has nothing more to tell from a place whose block was forgotten', () => {
    const index = new PrefixIndex(1_000_000);
    index.setShare(0, 100_000);
    index.reserve(hashesOf([0, 1, 0]), 0).confirm();
    const { next } = index.recent(index.newest(0)!, 1);
    index.purge(0);
    expect(index.newest(0)).toBeUndefined();
    expect(index.recent(next!, 10)).toEqual({ runs: [] });
  });
});
