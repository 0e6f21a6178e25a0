import fc from 'fast-check';
import { seededRandom } from '../../../../runtime/lib/random';
import { expectedLatency } from '../../../../runtime/router/scheduling/expected-latency';
import type { Profile } from '../../../../runtime/router/scheduling/profile';
import { schedule } from '../../../../runtime/router/scheduling/scheduler';
import type { Scorer } from '../../../../runtime/router/scheduling/scorer';
import { anyPool, anyRequest, candidate, scheduledRequest } from '../../../helpers/candidates';

const byKvUsage: Scorer = {
  name: 'kv',
  score(_request, candidates, out) {
    candidates.forEach(({ kvUsage }, i) => {
      out[i] = kvUsage;
    });
  },
};

function scorerOf(name: string, costOfSlot: (slot: number) => number): Scorer {
  return { name, score: (_request, candidates, out) => out.set(candidates.map(({ endpoint }) => costOfSlot(endpoint.slot))) };
}

function profileOf(changes: Partial<Profile> = {}): Profile {
  return { name: 'test', filters: [], scorers: [{ scorer: byKvUsage, weight: 1 }], tieWidth: () => 0, ...changes };
}

function pick(profile: Profile, pool: Parameters<typeof schedule>[2], seed = 1): number | undefined {
  const outcome = schedule(profile, scheduledRequest(), pool, seededRandom(seed));
  return outcome.kind === 'picked' ? outcome.decision.picked.endpoint.slot : undefined;
}

describe('the scheduler', () => {
  it('picks the cheapest of those that pass all filters', () => {
    const pool = [0.1, 0.5, 0.3].map((kvUsage, slot) => candidate(slot, { kvUsage }));
    expect(pick(profileOf(), pool)).toBe(0);
    const notFirst = { name: 'not-first', keeps: (_: unknown, each: { endpoint: { slot: number } }) => each.endpoint.slot !== 0 };
    expect(pick(profileOf({ filters: [notFirst] }), pool)).toBe(2);
  });

  it('weighs terms', () => {
    const bySlot = scorerOf('slot', (slot) => slot);
    const pool = [1, 0].map((kvUsage, slot) => candidate(slot, { kvUsage }));
    expect(
      pick(
        profileOf({
          scorers: [
            { scorer: byKvUsage, weight: 1 },
            { scorer: bySlot, weight: 2 },
          ],
        }),
        pool,
      ),
    ).toBe(0);
    expect(
      pick(
        profileOf({
          scorers: [
            { scorer: byKvUsage, weight: 3 },
            { scorer: bySlot, weight: 2 },
          ],
        }),
        pool,
      ),
    ).toBe(1);
  });

  it('names the filter that left nobody, and what each removed', () => {
    const odd = { name: 'odd', keeps: (_: unknown, each: { endpoint: { slot: number } }) => each.endpoint.slot % 2 === 1 };
    const none = { name: 'none', keeps: () => false };
    const outcome = schedule(
      profileOf({ filters: [odd, none] }),
      scheduledRequest(),
      [0, 1, 2].map((slot) => candidate(slot)),
      seededRandom(1),
    );
    expect(outcome).toMatchObject({ kind: 'filtered', filter: 'none' });
    const removed = [...(outcome.kind === 'filtered' ? outcome.removed : [])].map(([name, gone]) => [
      name,
      gone.map(({ endpoint }) => endpoint.slot),
    ]);
    expect(removed).toEqual([
      ['odd', [0, 2]],
      ['none', [1]],
    ]);
  });

  it('draws among ties from its seed, and each of them in turn', () => {
    const pool = [0, 1, 2].map((slot) => candidate(slot));
    const picks = Array.from({ length: 30 }, (_, seed) => pick(profileOf(), pool, seed));
    expect(new Set(picks)).toEqual(new Set([0, 1, 2]));
    expect(picks).toEqual(Array.from({ length: 30 }, (_, seed) => pick(profileOf(), pool, seed)));
  });

  it('keeps every candidate when there is no scorer at all', () => {
    const picks = Array.from({ length: 30 }, (_, seed) => pick(profileOf({ scorers: [] }), [candidate(0), candidate(1)], seed));
    expect(new Set(picks)).toEqual(new Set([0, 1]));
  });

  it('takes a term that is no finite number as the worst, and no more than that', () => {
    const broken = scorerOf('broken', (slot) => [Number.NaN, Number.POSITIVE_INFINITY, 7][slot]!);
    const outcome = schedule(
      profileOf({ scorers: [{ scorer: broken, weight: 1 }] }),
      scheduledRequest(),
      [0, 1, 2].map((slot) => candidate(slot)),
      seededRandom(1),
    );
    expect(outcome).toMatchObject({ kind: 'picked', decision: { picked: { endpoint: { slot: 2 } } } });
  });

  it('always picks somebody under expected-latency, with finite costs, for any pool and request', () => {
    fc.assert(
      fc.property(anyRequest, anyPool, fc.integer(), (request, pool, seed) => {
        const outcome = schedule(expectedLatency(), request, pool, seededRandom(seed));
        if (outcome.kind !== 'picked') throw new Error('nobody was picked');
        expect(outcome.decision.costs.every(Number.isFinite)).toBe(true);
        const best = Math.min(...outcome.decision.costs);
        const at = pool.indexOf(outcome.decision.picked);
        expect(outcome.decision.costs[at]! - best).toBeLessThanOrEqual(0.005 + 1e-9 * Math.abs(best));
      }),
    );
  });
});

describe('expected-latency', () => {
  const terms = (changes: Parameters<typeof candidate>[1], objective?: 'ttft' | 'e2e') => {
    const profile = expectedLatency(objective);
    const outcome = schedule(profile, scheduledRequest(), [candidate(0, changes)], seededRandom(1));
    if (outcome.kind !== 'picked') throw new Error('nobody was picked');
    return Object.fromEntries(profile.scorers.map(({ scorer }, i) => [scorer.name, outcome.decision.terms[i]]));
  };

  it('T = (q + 2u) / R', () => {
    expect(terms({ queuedTokens: 3000, cachedTokens: 400 })['prefill-time']).toBeCloseTo((3000 + 2 * 600) / 10_000);
    expect(terms({ cachedTokens: 5000 })['prefill-time']).toBe(0);
  });

  it('D = γ · (out · step + n · (out · β + u / R)), with β by the length of the context and γ by objective', () => {
    const decode = { baseSeconds: 0.01, perSequenceSeconds: 0.0001, perContextTokenSeconds: 1e-6 };
    // 1000 tokens of prompt and on average half of 100 of output.
    const beta = 0.0001 + 1e-6 * 1050;
    const step = 0.01 + 0.0001 * 7 + 1e-6 * 9000 + beta;
    const busy = { running: 7, contextTokens: 9000, cachedTokens: 400, decode };
    expect(terms(busy)['decode-time']).toBeCloseTo(0.5 * (100 * step + 7 * (100 * beta + 600 / 10_000)));
  });

  it('D without a context is γ · (out · (α + β(n + 1)) + n · (out · β + u / R))', () => {
    const expected = 100 * (0.01 + 0.0001 * 8) + 7 * (100 * 0.0001 + 1000 / 10_000);
    expect(terms({ running: 7 })['decode-time']).toBeCloseTo(expected / 2);
    expect(terms({ running: 7 }, 'ttft')['decode-time']).toBeCloseTo(expected / 4);
  });

  it.each([
    [0, 0],
    [0.5, 0.15],
    [0.98, 0.15 * 49],
    [1, 0.15 * 49],
  ])('M = λ · k / (1 − k) at k = %d is %d s', (kvUsage, expected) => {
    expect(terms({ kvUsage })['kv-pressure']).toBeCloseTo(expected);
  });

  it('adds the wait for a slot once the engine is full', () => {
    expect(terms({ running: 255, maxNumSeqs: 256 })['slot-wait']).toBe(0);
    const perRequest = 100 * (0.01 + 0.0001 * 256);
    expect(terms({ running: 256, maxNumSeqs: 256 })['slot-wait']).toBeCloseTo(perRequest / 256);
    expect(terms({ running: 265, maxNumSeqs: 256 })['slot-wait']).toBeCloseTo((10 * perRequest) / 256);
  });

  it('L = 2 · out · (late steps of this request, and what it adds to those of others), late from 90 % of the objective on', () => {
    const decode = { baseSeconds: 0.04, perSequenceSeconds: 0.001, perContextTokenSeconds: 0 };
    const lateAt = (running: number): number => {
      const outcome = schedule(
        expectedLatency('e2e', 60),
        scheduledRequest(),
        [candidate(0, { running, decode })],
        seededRandom(1),
      );
      if (outcome.kind !== 'picked') throw new Error('nobody was picked');
      return outcome.decision.terms.at(-1)!;
    };
    // 14 sequences take 54 ms.
    expect(lateAt(13)).toBeCloseTo(0);
    expect(lateAt(14)).toBeCloseTo(2 * 100 * (0.001 + 14 * 0.001));
    expect(lateAt(20)).toBeCloseTo(2 * 100 * (0.007 + 20 * 0.001));
  });

  it('fills a slow pod beside a fast one as far as its tokens come in time, when it has an objective, and further when not', () => {
    const slow = { baseSeconds: 0.036, perSequenceSeconds: 0.001, perContextTokenSeconds: 0 };
    const fast = { baseSeconds: 0.017, perSequenceSeconds: 0.0004, perContextTokenSeconds: 0 };
    const filled = (itlMs?: number): number => {
      const running = [0, 0];
      for (let i = 0; i < 105; i++) {
        const pool = [slow, fast].map((decode, slot) => candidate(slot, { running: running[slot]!, cachedTokens: 1000, decode }));
        running[pick(expectedLatency('e2e', itlMs), pool)!]! += 1;
      }
      return running[0]!;
    };
    // 18 sequences take 54 ms on the slow one; 87 take 52 ms on the fast one.
    expect(filled(60)).toBeLessThanOrEqual(19);
    expect(filled()).toBeGreaterThan(21);
  });

  it('prefers a warm pod until its queue costs more than computing the prefix elsewhere', () => {
    const at = (queuedTokens: number) =>
      pick(expectedLatency(), [candidate(0, { cachedTokens: 900, queuedTokens }), candidate(1)]);
    expect(at(0)).toBe(0);
    expect(at(1700)).toBe(0);
    expect(at(1900)).toBe(1);
  });

  it('takes costs as a tie within 2 % of T and 5 ms, and no wider', () => {
    const picks = (queuedTokens: readonly [number, number]) =>
      new Set(
        Array.from({ length: 40 }, (_, seed) =>
          pick(
            expectedLatency(),
            queuedTokens.map((q, slot) => candidate(slot, { queuedTokens: q })),
            seed,
          ),
        ),
      );
    // T of the best is 0.3 s: 5 ms are 50 tokens, and 2 % are 6 ms.
    expect(picks([1000, 1049]).size).toBe(2);
    expect(picks([1000, 1052]).size).toBe(1);
    // T of the best is 0.2 s: 2 % are 4 ms, 40 tokens.
    expect(picks([0, 39]).size).toBe(2);
    expect(picks([0, 45]).size).toBe(1);
  });
});
