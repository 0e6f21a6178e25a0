import fc from 'fast-check';
import { cheapestSchedule, type ScheduledPool } from '../../../../runtime/cli/scaling-proof/hindsight/cheapest-schedule';
import { lowerBound } from '../../../../runtime/cli/scaling-proof/hindsight/lower-bound';
import { SLOT_MS, slotDemand } from '../../../../runtime/cli/scaling-proof/hindsight/slot-demand';
import { tokensAtObjective } from '../../../../runtime/cli/scaling-proof/service';
import { BySchedule } from '../../../../runtime/cli/scaling-proof/strategies/by-schedule';
import { diurnalDay } from '../../../../runtime/cli/scaling-proof/traffic/diurnal';
import { smallService } from './small-service';

const HOUR_MS = 3_600_000;

const pool = fc.record({
  min: fc.integer({ min: 0, max: 1 }),
  max: fc.integer({ min: 1, max: 2 }),
  pricePerHour: fc.integer({ min: 1, max: 9 }),
  capacity: fc.integer({ min: 1, max: 5 }),
  startMs: fc.constantFrom(0, 40_000, 200_000),
  endMs: fc.constantFrom(0, 90_000),
});

/** The cost of the cheapest of all schedules, each of them reckoned up. */
function cheapestOfAll(pools: readonly ScheduledPool[], demand: readonly number[], first: readonly number[]): number {
  const counts = pools.map(({ min, max }) => Array.from({ length: max - min + 1 }, (_, i) => min + i));
  const mixes = counts.reduce<number[][]>((all, some) => all.flatMap((mix) => some.map((count) => [...mix, count])), [[]]);
  const carried = (mix: readonly number[]): number => pools.reduce((sum, { capacity }, i) => sum + capacity * mix[i]!, 0);
  const most = Math.max(...mixes.map(carried));
  const from = (slot: number, before: readonly number[]): number => {
    if (slot === demand.length) return 0;
    let best = Number.POSITIVE_INFINITY;
    for (const mix of mixes) {
      if (carried(mix) < Math.min(most, demand[slot]!)) continue;
      let cost = from(slot + 1, mix);
      pools.forEach(({ pricePerHour, startMs, endMs }, i) => {
        const change = mix[i]! - before[i]!;
        const paidMs = mix[i]! * SLOT_MS + Math.max(0, change) * startMs + Math.max(0, -change) * endMs;
        cost += (pricePerHour * paidMs) / HOUR_MS;
      });
      best = Math.min(best, cost);
    }
    return best;
  };
  return from(0, first);
}

describe('the cheapest schedule', () => {
  it('costs what the cheapest of all possible ones costs, and carries the load', () => {
    const demands = fc.array(fc.integer({ min: 0, max: 14 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(pool, { minLength: 1, maxLength: 2 }), demands, (pools, demand) => {
        const first = pools.map(({ min }) => min);
        const { mixes, cost } = cheapestSchedule(pools, demand, SLOT_MS, first);
        expect(cost).toBeCloseTo(cheapestOfAll(pools, demand, first), 9);
        const most = pools.reduce((sum, { capacity, max }) => sum + capacity * max, 0);
        mixes.forEach((mix, slot) => {
          const carried = pools.reduce((sum, { capacity }, i) => sum + capacity * mix[i]!, 0);
          expect(carried).toBeGreaterThanOrEqual(Math.min(most, demand[slot]!));
        });
      }),
    );
  });

  it('keeps a replica over a short lull whose end would cost a start, and not over a long one', () => {
    const pools = [{ min: 1, max: 2, pricePerHour: 6, capacity: 10, startMs: 180_000, endMs: 0 }];
    const lull = (slots: number) => [20, ...Array.from({ length: slots }, () => 5), 20];
    const replicas = (slots: number) => cheapestSchedule(pools, lull(slots), SLOT_MS, [2]).mixes.map(([count]) => count);
    expect(replicas(2)).toEqual([2, 2, 2, 2]);
    expect(replicas(4)).toEqual([2, 1, 1, 1, 1, 2]);
  });

  it('is followed so that replicas serve when their slot begins', () => {
    const strategy = new BySchedule([[1], [1], [3], [1]], [70_000]);
    const at = (nowMs: number) => strategy.round({ nowMs } as Parameters<BySchedule['round']>[0])[0];
    expect([0, 30_000, 45_000, 60_000, 120_000, 180_000].map(at)).toEqual([1, 1, 3, 3, 3, 1]);
  });
});

describe('what a day asks for', () => {
  const service = smallService();
  const day = diurnalDay({ seed: 3, durationMs: 2 * HOUR_MS, peakRate: 0.4, lengths: service.lengths });

  it('is every token of an answer, over the time that it may take', () => {
    const [one] = day.requests;
    const request = { ...one!.request, outputTokens: 1500 };
    const demand = slotDemand({ ...day, requests: [{ atMs: 30_000, request }] }, 60);
    expect([...demand.slice(0, 4)]).toEqual([500 / 60, 1000 / 60, 0, 0]);
  });

  it('costs less by the lower bound than by the cheapest schedule at full load', () => {
    const rates = tokensAtObjective(service);
    const pools = service.pools.map((each, i) => ({ ...each, capacity: rates[i]!, endMs: 0 }));
    const { cost } = cheapestSchedule(
      pools,
      slotDemand(day, service.objectives.itlMs),
      SLOT_MS,
      pools.map(({ min }) => min),
    );
    const bound = lowerBound(service, day, 0.01);
    expect(bound).toBeGreaterThan(0);
    expect(bound).toBeLessThanOrEqual(cost);
  });

  it('costs no less than the replicas that are always there', () => {
    const least = service.pools.reduce((sum, { min, pricePerHour }) => sum + min * pricePerHour, 0);
    expect(lowerBound(service, { ...day, requests: [] }, 0.01)).toBeCloseTo(2 * least, 9);
  });
});
