import fc from 'fast-check';
import { sleep } from '../../../runtime/lib/clock';
import { VirtualClock } from '../../../runtime/lib/virtual-clock';

describe('virtual time', () => {
  it('runs timers in the order of their times, and those of one instant in the order they were set', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 60 }), (delays) => {
        const clock = new VirtualClock();
        const seen: [number, number][] = [];
        delays.forEach((delay, index) => {
          clock.after(delay, () => seen.push([clock.monotonic(), index]));
        });
        clock.runToEnd();
        const wanted = delays.map((delay, index): [number, number] => [delay, index]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
        expect(seen).toEqual(wanted);
      }),
    );
  });

  it('advances exactly, and runs nothing that is due later or was cancelled', () => {
    const clock = new VirtualClock(1_000);
    const seen: string[] = [];
    clock.after(10, () => seen.push('due'));
    clock.after(10, () => seen.push('cancelled')).cancel();
    clock.after(11, () => seen.push('later'));
    clock.advance(10);
    expect([seen, clock.now(), clock.monotonic()]).toEqual([['due'], 1_010, 10]);
  });

  it('runs what a timer sets for within the advance', () => {
    const clock = new VirtualClock();
    let count = 0;
    const tick = (): void => {
      count += 1;
      clock.after(10, tick);
    };
    tick();
    clock.advance(95);
    expect(count).toBe(10);
  });

  it('ends a sleep early when its signal aborts', async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    const slept = sleep(clock, 1_000, abort.signal);
    abort.abort();
    await slept;
    expect(clock.step()).toBe(false);
  });
});
