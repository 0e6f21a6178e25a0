import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { DeadlineWheel } from '../../../../runtime/router/relay/deadline-wheel';

describe('a deadline', () => {
  it('comes due once, at most one tick late, and never early', () => {
    for (const delayMs of [1, 49, 50, 51, 1_000, 3_600_000]) {
      const clock = new VirtualClock();
      const wheel = new DeadlineWheel(clock);
      const due: number[] = [];
      wheel.deadline(() => due.push(clock.monotonic())).set(delayMs);
      clock.advance(delayMs + 200);
      expect(due).toHaveLength(1);
      expect(due[0]! - delayMs).toBeGreaterThanOrEqual(0);
      expect(due[0]! - delayMs).toBeLessThanOrEqual(50);
    }
  });

  it('that moves away again and again does not come due', () => {
    const clock = new VirtualClock();
    const wheel = new DeadlineWheel(clock);
    let due = 0;
    const deadline = wheel.deadline(() => {
      due += 1;
    });
    for (let count = 0; count < 100; count++) {
      deadline.set(100);
      clock.advance(60);
    }
    expect([due, deadline.isPast]).toEqual([0, false]);
    clock.advance(200);
    expect([due, deadline.isPast]).toEqual([1, true]);
  });

  it('that was cleared holds nothing and leaves no timer', () => {
    const clock = new VirtualClock();
    const wheel = new DeadlineWheel(clock);
    const deadline = wheel.deadline(() => {
      throw new Error('came due');
    });
    deadline.set(10_000);
    expect(wheel.size).toBe(1);
    deadline.clear();
    expect(wheel.size).toBe(0);
    clock.runToEnd(10);
    expect(clock.step()).toBe(false);
  });

  it('of 0 is none', () => {
    const wheel = new DeadlineWheel(new VirtualClock());
    wheel.deadline(() => undefined).set(0);
    expect(wheel.size).toBe(0);
  });
});
