import { ClosedLoop, LOOP_METRICS } from '../../helpers/closed-loop';

describe('a constant rate of arrivals', () => {
  it('is answered with at most one scaling in the hour after warm-up, by a gauge that swings by more than the tolerance', async () => {
    const loop = await ClosedLoop.open({ ...LOOP_METRICS.gauge, seed: 1 });
    try {
      await loop.run(1.5);
      const sums = loop.decisions.slice(-240).map(({ inputs }) => inputs?.[0]?.[0]?.sum ?? 0);
      expect(Math.max(...sums)).toBeGreaterThan(1.1 * 30);
      expect(loop.within(0.5, 1.5)).toBeLessThanOrEqual(1);
      expect(loop.failures).toBe(0);
    } finally {
      await loop.close();
    }
  }, 60_000);
});
