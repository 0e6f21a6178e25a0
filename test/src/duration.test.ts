import fc from 'fast-check';
import { formatDuration, parseDurationMs } from '../../src/duration';

describe('a duration', () => {
  it.each([
    ['100ms', 100],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['0', 0],
    ['0s', 0],
    ['-2s', -2000],
    ['250us', 0.25],
  ])('%s is %d ms, as Go reads it', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each(['', '5', '1d', 's', '1m30', '1 m', 'm1'])('%j is none', (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  });

  it('comes back from its written form', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e9, max: 1e9 }), (ms) => {
        expect(parseDurationMs(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});
