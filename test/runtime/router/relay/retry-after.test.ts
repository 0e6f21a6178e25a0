import { retryAfterMs } from '../../../../runtime/router/relay/retry-after';

describe('an answer’s Retry-After', () => {
  it.each([
    [[], undefined],
    [['content-type', 'text/plain'], undefined],
    [['retry-after', '7'], 7_000],
    [['content-type', 'text/plain', 'retry-after', ' 0 '], 0],
    [['retry-after', '1.5'], undefined],
    [['retry-after', '-1'], undefined],
    [['retry-after', 'Tue, 01 Dec 2026 00:00:00 GMT'], undefined],
    [['retry-after', '99999999999999'], undefined],
  ])('of %j asks for %s ms', (headers, ms) => {
    expect(retryAfterMs(headers)).toBe(ms);
  });
});
