import { EventRing } from '../../../../runtime/cluster/manifests/event-ring';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { deploymentOf } from '../../../helpers/workload-objects';

describe('noted events', () => {
  it('count repeats and tell the first and the last time', () => {
    const clock = new VirtualClock(Date.parse('2026-11-30T12:00:00Z'));
    const ring = new EventRing(clock);
    ring.note(deploymentOf('a'), 'Normal', 'Scaled', '1 → 2');
    ring.note(deploymentOf('b'), 'Normal', 'Scaled', '1 → 2');
    clock.advance(5000);
    ring.note(deploymentOf('a'), 'Normal', 'Scaled', '1 → 2');
    expect(ring.list()).toMatchObject([
      { name: 'b', count: 1 },
      { name: 'a', count: 2, firstTimestamp: '2026-11-30T12:00:00Z', lastTimestamp: '2026-11-30T12:00:05Z' },
    ]);
  });

  it('are forgotten from the oldest on once there are 1000', () => {
    const ring = new EventRing(new VirtualClock());
    for (let i = 0; i < 1005; i++) ring.note(deploymentOf('a'), 'Warning', 'Reason', `message ${i}`);
    expect(ring.list()).toHaveLength(1000);
    expect(ring.list()[0]!.message).toBe('message 5');
  });
});
