import fc from 'fast-check';
import { segmentedRequest } from '../../../../../runtime/cli/replay/workload/segmented-prompt';
import { parseSharedPrefix, sharedPrefixWorkload } from '../../../../../runtime/cli/replay/workload/shared-prefix';
import { traceWorkload } from '../../../../../runtime/cli/replay/workload/trace-workload';
import { seededRandom } from '../../../../../runtime/lib/random';

const request = (index: number, ...ids: readonly number[]) =>
  segmentedRequest({ index, segments: ids.map((id) => ({ id, tokens: 64 })), outputTokens: 40 });

describe('a request of which only identities of its parts are known', () => {
  it('has equal keys and equal text for equal beginnings, and others from the first difference on', () => {
    const ids = fc.array(fc.nat(5), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(ids, ids, fc.constantFrom(16, 32, 48), (a, b, blockSize) => {
        // Ids stand for a part and everything before it.
        const chained = (parts: readonly number[]): readonly number[] =>
          parts.map((_, i) => parts.slice(0, i + 1).reduce((hash, id) => hash * 7 + id + 1, 0));
        const [first, second] = [request(0, ...chained(a)), request(1, ...chained(b))];
        let same = 0;
        while (same < Math.min(a.length, b.length) && a[same] === b[same]) same += 1;
        const [keysA, keysB] = [first.blockKeys(blockSize), second.blockKeys(blockSize)];
        const blocks = Math.ceil((64 * Math.max(a.length, b.length) + 40) / blockSize);
        for (let i = 0; i < blocks; i++) expect(keysA(i) === keysB(i)).toBe((i + 1) * blockSize <= 64 * same);
        const [textA, textB] = [first.promptSpan(), second.promptSpan()];
        const sharedText = request(2, ...chained(a.slice(0, same)), 999).promptSpan();
        for (const text of [textA, textB]) {
          if (same > 0) expect(text.subarray(0, 180).equals(sharedText.subarray(0, 180))).toBe(true);
        }
        if (same < Math.min(a.length, b.length)) expect(textA.equals(textB)).toBe(false);
      }),
    );
  });

  it('gives a block the same key in whatever order blocks are asked for', () => {
    const keys = request(0, 4, 5, 6).blockKeys(16);
    const forwards = Array.from({ length: 14 }, (_, i) => keys(i));
    expect(Array.from({ length: 14 }, (_, i) => keys(13 - i)).reverse()).toEqual(forwards);
    expect(new Set(forwards).size).toBe(14);
  });

  it('has about four bytes of text a token, more here and less there', () => {
    const densities = Array.from({ length: 200 }, (_, id) => request(0, id).promptSpan().length / 64);
    expect(Math.min(...densities)).toBeGreaterThanOrEqual(3.3);
    expect(Math.max(...densities)).toBeLessThanOrEqual(4.7);
    expect(densities.reduce((sum, each) => sum + each, 0) / 200).toBeCloseTo(4, 0);
    expect(new Set(densities).size).toBeGreaterThan(20);
  });
});

describe('the workload of a trace', () => {
  const traced = (atMs: number) => ({ atMs, segments: [{ id: 0, tokens: 10 }], outputTokens: 1 });
  const starts = (...args: Parameters<typeof traceWorkload>): readonly number[] =>
    traceWorkload(...args).sessions.map(({ startMs }) => startMs);
  const rounded = [1000, 1000, 1000, 4000, 7000, 7000].map(traced);

  it('starts with its first request and is as fast and as long as asked for', () => {
    expect(starts(rounded)).toEqual([0, 0, 0, 3000, 6000, 6000]);
    expect(starts(rounded, { speed: 2, limit: 4 })).toEqual([0, 0, 0, 1500]);
  });

  it('spreads what a trace put at one instant until the next, by the seed, in order of time', () => {
    const spread = starts(rounded, { jitter: seededRandom(3) });
    expect(spread).toEqual([...spread].sort((a, b) => a - b));
    expect(new Set(spread.slice(0, 3)).size).toBe(3);
    for (const start of spread.slice(0, 3)) expect(start).toBeLessThan(3000);
    expect(spread[3]).toBe(3000);
    for (const start of spread.slice(4)) expect(start).toBeLessThan(9000);
    expect(starts(rounded, { jitter: seededRandom(3) })).toEqual(spread);
    expect(starts(rounded, { jitter: seededRandom(4) })).not.toEqual(spread);
  });
});

describe('the shared-prefix workload', () => {
  it('has every prompt once, in an order by the seed', () => {
    const shape = parseSharedPrefix('4x3,128,32,8');
    const workload = sharedPrefixWorkload(shape, { random: seededRandom(1), concurrency: 5 });
    expect(workload.concurrency).toBe(5);
    const requests = workload.sessions.flatMap((session) => session.requests);
    expect(requests).toHaveLength(12);
    for (const each of requests) expect(each).toMatchObject({ promptTokens: 160, outputTokens: 8, maxOutputTokens: 8 });
    const firstKeys = requests.map((each) => each.blockKeys(16)(0));
    const counts = new Map<number, number>();
    for (const key of firstKeys) counts.set(key, (counts.get(key) ?? 0) + 1);
    expect([...counts.values()]).toEqual([3, 3, 3, 3]);
    expect(new Set(requests.map((each) => each.blockKeys(16)(9))).size).toBe(12);
    const other = sharedPrefixWorkload(shape, { random: seededRandom(2) });
    expect(other.sessions.flatMap((session) => session.requests).map((each) => each.blockKeys(16)(0))).not.toEqual(firstKeys);
  });

  it('arrives at the rate asked for, else all at once', () => {
    const shape = parseSharedPrefix('10x100,0,32,8');
    const all = sharedPrefixWorkload(shape, { random: seededRandom(1) });
    expect(all.sessions.every(({ startMs }) => startMs === 0)).toBe(true);
    const paced = sharedPrefixWorkload(shape, { random: seededRandom(1), requestsPerSecond: 50 });
    expect(paced.sessions.at(-1)!.startMs).toBeGreaterThan(17_000);
    expect(paced.sessions.at(-1)!.startMs).toBeLessThan(23_000);
  });

  it.each(['', '256', '256x32', '256x32,4096,256', 'ax2,1,1,1', '0x2,1,1,1', '2x2,1,0,1', '9999x9999,1,1,1'])(
    'does not take %j',
    (text) => {
      expect(() => parseSharedPrefix(text)).toThrow('256x32,4096,256,128');
    },
  );
});
