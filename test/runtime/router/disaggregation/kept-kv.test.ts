import { Metrics } from '../../../../runtime/lib/metrics';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { HandOffMetrics } from '../../../../runtime/router/disaggregation/hand-off-metrics';
import { KeptKv } from '../../../../runtime/router/disaggregation/kept-kv';
import { parseFamilies, seriesValue } from '../../../helpers/prometheus-text';

describe('KV that nobody fetches', () => {
  const metrics = new Metrics();
  const clock = new VirtualClock();
  const kept = new KeptKv(clock, new HandOffMetrics(metrics));
  let given = 0;
  const keep = (pod: string): void =>
    kept.add(pod, 'default/a', 30_000, () => {
      given += 1;
    });
  const counts = async (): Promise<readonly number[]> => {
    const page = parseFamilies(await metrics.registry.metrics());
    const value = (name: string): number => ((page.get(name)?.series.size ?? 0) === 0 ? 0 : seriesValue(page, name));
    return [value('kvasir_router_hand_offs_pending'), value('kvasir_router_hand_offs_leaked_total'), given];
  };

  it('is pending for its lease and leaked after it; what goes with its pod, or is there when the router ends, is not', async () => {
    keep('p0');
    clock.advance(10_000);
    keep('p0');
    keep('p1');
    expect(await counts()).toEqual([3, 0, 0]);
    clock.advance(20_000);
    expect(await counts()).toEqual([2, 1, 1]);
    kept.forget('p1');
    kept.forget('p1');
    expect(await counts()).toEqual([1, 1, 2]);
    kept.close();
    clock.advance(60_000);
    expect(await counts()).toEqual([0, 1, 3]);
  });
});
