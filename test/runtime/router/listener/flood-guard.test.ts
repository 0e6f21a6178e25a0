import { FloodGuard } from '../../../../runtime/router/listener/flood-guard';

const taken = (guard: FloodGuard, count: number, nowMs: number): number =>
  Array.from({ length: count }, () => guard.allows(nowMs)).filter(Boolean).length;

describe('a connection', () => {
  it('may do at once what costs, 200 times', () => {
    expect(taken(new FloodGuard(0), 1_000, 0)).toBe(200);
  });

  it('may do it 50 times a second for ever', () => {
    const guard = new FloodGuard(0);
    for (let nowMs = 0; nowMs < 600_000; nowMs += 20) expect(guard.allows(nowMs)).toBe(true);
  });

  it('saves no more than 200 up', () => {
    expect(taken(new FloodGuard(0), 1_000, 3_600_000)).toBe(200);
  });
});
