import { WakeWatch } from '../../../../runtime/autoscaler/observe/wake-watch';
import type { WakeRequests } from '../../../../runtime/cluster/wake-requests';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';

const EPOCH_MS = Date.parse('2026-11-30T12:00:00Z');
const target = { kind: 'Deployment', namespace: 'default', name: 'chat' };

describe('who waits for a target', () => {
  let clock: VirtualClock;
  let renewedMs: number | undefined;
  let isReachable: boolean;
  let watch: WakeWatch;

  beforeEach(() => {
    clock = new VirtualClock(EPOCH_MS);
    clock.advance(60_000);
    renewedMs = undefined;
    isReachable = true;
    const requests: WakeRequests = {
      list: () => (renewedMs === undefined ? [] : [{ target, uid: 'u', renewedMs }]),
      read: async () => {
        if (!isReachable) return { kind: 'unavailable', message: 'no connection' };
        return renewedMs === undefined ? { kind: 'gone' } : { kind: 'found', value: renewedMs };
      },
      changed: () => () => undefined,
    };
    watch = new WakeWatch(clock, requests);
  });

  it('is nobody without a lease, and somebody for 15 s after it was renewed', () => {
    expect(watch.isWanted('u')).toBe(false);
    renewedMs = clock.now();
    expect(watch.waiting()).toMatchObject([{ target }]);
    clock.advance(14_999);
    expect(watch.isWanted('u')).toBe(true);
    clock.advance(1);
    expect([watch.isWanted('u'), watch.waiting()]).toEqual([false, []]);
  });

  it('is nobody when a lease is old that is seen for the first time, as after a restart', () => {
    renewedMs = clock.now() - 15_000;
    expect(watch.isWanted('u')).toBe(false);
  });

  it('is somebody when a lease is renewed by a router whose clock is minutes behind or ahead', () => {
    for (const offMs of [-180_000, 180_000]) {
      renewedMs = clock.now() + offMs;
      watch.isWanted('u');
      clock.advance(20_000);
      renewedMs = clock.now() + offMs;
      expect(watch.isWanted('u')).toBe(true);
      clock.advance(15_000);
      expect(watch.isWanted('u')).toBe(false);
    }
  });

  it('is asked of the source of truth before a target goes to zero, and an unreadable one objects', async () => {
    expect(await watch.objection('default', 'u')).toBeUndefined();
    renewedMs = clock.now();
    expect(await watch.objection('default', 'u')).toBe('wanted');
    clock.advance(15_000);
    expect(await watch.objection('default', 'u')).toBeUndefined();
    isReachable = false;
    expect(await watch.objection('default', 'u')).toBe('unreadable');
  });
});
