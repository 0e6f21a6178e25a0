import {
  mostStarting,
  NEVER_STARTED,
  nextStart,
  type StartState,
  type StartTrouble,
} from '../../../../runtime/autoscaler/decide/back-off';

const MINUTE_MS = 60_000;
const noNode: StartTrouble = { kind: 'unschedulable', message: 'no node has room for pod h100-1' };

/** Rounds of half a minute, each with the same pods. */
function rounds(
  state: StartState,
  seen: { readonly ready: number; readonly trouble?: StartTrouble },
  fromMin: number,
  toMin: number,
): StartState {
  let now = state;
  for (let at = fromMin; at <= toMin; at += 0.5) {
    now = nextStart(now, { ready: seen.ready, trouble: seen.trouble }, at * MINUTE_MS);
  }
  return now;
}

describe('a pool whose pods do not start', () => {
  it('may take the time that a node takes, and backs off then', () => {
    const waiting = rounds(NEVER_STARTED, { ready: 1, trouble: noNode }, 0, 4.5);
    expect(mostStarting(waiting, 3, 4.5 * MINUTE_MS)).toBeUndefined();
    const over = rounds(waiting, { ready: 1, trouble: noNode }, 5, 5);
    expect(mostStarting(over, 3, 5 * MINUTE_MS)).toEqual({ most: 1, reason: noNode.message });
  });

  it('is tried with one more replica when its time is over, and longer apart each time', () => {
    let state = rounds(NEVER_STARTED, { ready: 1, trouble: noNode }, 0, 5);
    expect(state.untilMs).toBe(7 * MINUTE_MS);
    state = rounds(state, { ready: 1 }, 5.5, 7);
    expect(mostStarting(state, 1, 7 * MINUTE_MS)).toEqual({ most: 2, reason: noNode.message });
    state = rounds(state, { ready: 1, trouble: noNode }, 7.5, 12.5);
    expect(state.failures).toBe(2);
    expect(state.untilMs).toBe(16.5 * MINUTE_MS);
    for (let i = 0; i < 20; i++) state = rounds(state, { ready: 1, trouble: noNode }, 20 + i * 60, 50 + i * 60);
    const lastMs = (50 + 19 * 60) * MINUTE_MS;
    expect(state.untilMs! - lastMs).toBeLessThanOrEqual(30 * MINUTE_MS);
  });

  it('grows again when a pod becomes ready', () => {
    const state = rounds(NEVER_STARTED, { ready: 1, trouble: noNode }, 0, 8);
    const mended = nextStart(state, { ready: 2, trouble: undefined }, 9 * MINUTE_MS);
    expect(mostStarting(mended, 2, 9 * MINUTE_MS)).toBeUndefined();
  });

  it.each<[StartTrouble['kind'], number]>([
    ['image', 1],
    ['crash', 2],
    ['reclaimed', 0],
    ['no-room', 0],
  ])('for %s backs off after %d minutes', (kind, minutes) => {
    const trouble = { kind, message: kind };
    const before = rounds(NEVER_STARTED, { ready: 0, trouble }, 0, minutes - 0.5);
    expect(before.failures).toBe(0);
    expect(rounds(before, { ready: 0, trouble }, minutes, minutes).failures).toBe(1);
  });
});
