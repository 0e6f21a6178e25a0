import type { Candidate } from '../../../../../runtime/router/scheduling/candidate';
import { adapterLoad } from '../../../../../runtime/router/scheduling/plugins/adapter-load';
import { candidate, scheduledRequest } from '../../../../helpers/candidates';

function seconds(changes: Partial<Candidate>): number {
  const out = new Float64Array(1).fill(Number.NaN);
  adapterLoad.score(scheduledRequest({ adapter: 'a', expectedOutputTokens: 100 }), [candidate(0, changes)], out);
  return out[0]!;
}

const listed = new Set(['base', 'a', 'b', 'c']);

describe('the load of an adapter', () => {
  it.each<[string, Partial<Candidate>]>([
    ['requests are running with it', { models: listed, scraped: { adapterSlots: 1, runningAdapters: ['a'] } }],
    ['it was used last', { models: listed, recentAdapters: ['a', 'b'], scraped: { adapterSlots: 1 } }],
    ['it was used before the last one, and there are two slots', { recentAdapters: ['b', 'a'], scraped: { adapterSlots: 2 } }],
    ['it was used lately by an engine that does not tell its slots', { recentAdapters: ['b', 'a'] }],
  ])('costs nothing where %s', (_name, changes) => {
    expect(seconds(changes)).toBe(0);
  });

  it('costs nothing for requests without one', () => {
    const out = new Float64Array(1).fill(Number.NaN);
    adapterLoad.score(scheduledRequest(), [candidate(0, { models: new Set() })], out);
    expect(out[0]).toBe(0);
  });

  it('costs more the less there is of it: at hand, in a free slot, behind others, not there at all', () => {
    const costs = [
      seconds({ models: listed, recentAdapters: ['a'] }),
      seconds({ models: listed, recentAdapters: ['b', 'a'], scraped: { adapterSlots: 1 } }),
      seconds({ models: listed, running: 4, scraped: { adapterSlots: 1, runningAdapters: ['b'] } }),
      seconds({ models: new Set(['base']), recentAdapters: ['a'] }),
    ];
    expect([...costs].sort((x, y) => x - y)).toEqual(costs);
    expect(new Set(costs).size).toBe(4);
    // 100 tokens of answer at 10.4 ms each stand before a single slot is free.
    expect(costs[2]).toBeCloseTo(0.05 + 1.04, 2);
  });

  it('is that of an engine that did not list its adapters like that of one that lists it', () => {
    expect(seconds({ scraped: { adapterSlots: 2, runningAdapters: ['b'] } })).toBe(
      seconds({ models: listed, scraped: { adapterSlots: 2, runningAdapters: ['b'] } }),
    );
  });
});
