import fc from 'fast-check';
import { ejectedMembers, OutlierEjection } from '../../../../runtime/router/endpoints/outlier-ejection';

function failing(times: number, nowMs: number): OutlierEjection {
  const outlier = new OutlierEjection();
  for (let i = 0; i < times; i++) outlier.failed(nowMs);
  return outlier;
}

describe('an endpoint that fails', () => {
  it('is ejected after five failures in a row and not before', () => {
    expect(failing(4, 100).ejectedSinceMs(100)).toBeUndefined();
    expect(failing(5, 100).ejectedSinceMs(100)).toBe(100);
  });

  it('starts to count anew with a success', () => {
    const outlier = failing(4, 0);
    outlier.succeeded();
    outlier.failed(0);
    expect(outlier.ejectedSinceMs(0)).toBeUndefined();
  });

  it('gets one probe after 30 s, and is taken back when it succeeds', () => {
    const outlier = failing(5, 0);
    expect(outlier.ejectedSinceMs(29_999)).toBe(0);
    expect(outlier.ejectedSinceMs(30_000)).toBeUndefined();
    outlier.dispatched(30_000);
    expect(outlier.ejectedSinceMs(30_001)).toBe(0);
    outlier.succeeded();
    expect(outlier.ejectedSinceMs(30_001)).toBeUndefined();
  });

  it('is ejected for twice as long when the probe fails, and for five minutes at most', () => {
    const outlier = failing(5, 0);
    let nowMs = 0;
    const lengths: number[] = [];
    for (let i = 0; i < 6; i++) {
      const startMs = nowMs;
      while (outlier.ejectedSinceMs(nowMs) !== undefined) nowMs += 10_000;
      lengths.push(nowMs - startMs);
      outlier.dispatched(nowMs);
      outlier.failed(nowMs);
    }
    expect(lengths).toEqual([30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
  });

  it('is probed again when a probe ended without a verdict', () => {
    const outlier = failing(5, 0);
    outlier.dispatched(30_000);
    outlier.inconclusive(31_000);
    expect(outlier.ejectedSinceMs(31_000)).toBeUndefined();
  });

  it('is not taken back by an answer to a request from before its ejection', () => {
    const outlier = failing(5, 0);
    outlier.succeeded();
    expect(outlier.ejectedSinceMs(1)).toBe(0);
  });
});

describe('an endpoint that says it is busy', () => {
  it('is left alone for 250 ms, twice as long each time it says so again, and never for more than 4 s', () => {
    const outlier = new OutlierEjection();
    let nowMs = 0;
    const lengths: number[] = [];
    for (let i = 0; i < 6; i++) {
      const startMs = nowMs;
      outlier.busy(nowMs);
      outlier.busy(nowMs + 1);
      while (outlier.leftOutSinceMs(nowMs) !== undefined) nowMs += 10;
      lengths.push(nowMs - startMs);
    }
    expect(lengths).toEqual([250, 500, 1_000, 2_000, 4_000, 4_000]);
    expect(outlier.ejectedSinceMs(nowMs)).toBeUndefined();
  });

  it('is left alone for as long as it asks for, never less than otherwise and never more than 30 s', () => {
    const lengthOf = (askedMs: number): number => {
      const outlier = new OutlierEjection();
      outlier.busy(0, askedMs);
      let nowMs = 0;
      while (outlier.leftOutSinceMs(nowMs) !== undefined) nowMs += 50;
      return nowMs;
    };
    expect([0, 100, 5_000, 30_000, 3_600_000].map(lengthOf)).toEqual([250, 250, 5_000, 30_000, 30_000]);
  });

  it('may ask for longer while it is left alone, and not for less', () => {
    const outlier = new OutlierEjection();
    outlier.busy(0, 2_000);
    outlier.busy(100, 5_000);
    outlier.busy(200, 1_000);
    expect([outlier.leftOutSinceMs(5_099), outlier.leftOutSinceMs(5_100)]).toEqual([0, undefined]);
  });

  it('is left alone for 250 ms again after a success', () => {
    const outlier = new OutlierEjection();
    for (const nowMs of [0, 1_000, 2_000]) outlier.busy(nowMs);
    outlier.succeeded();
    outlier.busy(10_000);
    expect([outlier.leftOutSinceMs(10_249), outlier.leftOutSinceMs(10_250)]).toEqual([10_000, undefined]);
  });
});

describe('a pool', () => {
  it('leaves those that failed out before those that are busy', () => {
    const busy = { outlier: new OutlierEjection() };
    busy.outlier.busy(0);
    const failed = { outlier: failing(5, 100) };
    expect([...ejectedMembers([busy, failed], 100)]).toEqual([failed]);
  });

  it('never loses more than half of its members, and the oldest ejections count first', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(1000)), { maxLength: 12 }), (ejections) => {
        const pool = ejections.map((atMs) => ({ outlier: atMs === null ? new OutlierEjection() : failing(5, atMs) }));
        const out = ejectedMembers(pool, 1000);
        const suspects = pool.filter((_, i) => ejections[i] !== null);
        expect(out.size).toBe(Math.min(suspects.length, Math.floor(pool.length / 2)));
        const sinceOf = (member: (typeof pool)[number]): number => member.outlier.ejectedSinceMs(1000)!;
        const newestOut = Math.max(...[...out].map(sinceOf));
        for (const kept of suspects.filter((each) => !out.has(each))) {
          if (out.size > 0) expect(sinceOf(kept)).toBeGreaterThanOrEqual(newestOut);
        }
      }),
    );
  });
});
