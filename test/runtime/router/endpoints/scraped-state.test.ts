import { ScrapedState } from '../../../../runtime/router/endpoints/scraped-state';

const scrape = (atMs: number, observation: object) => ({ atMs, observation, ownRunning: 0, ownKvTokens: 0 });
const ttft = (sumSeconds: number, count: number) => ({ timeToFirstToken: { sumSeconds, count } });

describe('what was scraped', () => {
  it('loses half its weight every five seconds and none of its values', () => {
    const state = new ScrapedState();
    expect(state.weight(0)).toBe(0);
    state.succeeded(scrape(0, { running: 3 }));
    state.failed();
    expect([state.weight(0), state.weight(5000), state.weight(10_000)]).toEqual([1, 0.5, 0.25]);
    expect(state.scrape?.observation).toEqual({ running: 3 });
    expect(state.ageMs(7000)).toBe(7000);
  });

  it('counts as tried after a failure too', () => {
    const state = new ScrapedState();
    expect(state.isTried).toBe(false);
    state.failed();
    expect(state.isTried).toBe(true);
  });

  it('keeps the cache capacity that a later page does not tell', () => {
    const state = new ScrapedState();
    state.succeeded(scrape(0, { kvCapacityTokens: 1000 }));
    state.succeeded(scrape(1, {}));
    expect(state.kvCapacityTokens).toBe(1000);
  });

  it.each([
    ['one page tells no average', [ttft(10, 5)], undefined],
    ['two pages tell the average in between', [ttft(10, 5), ttft(12, 9)], 0.5],
    ['no new sample keeps the average before', [ttft(10, 5), ttft(12, 9), ttft(12, 9)], 0.5],
    ['a restart tells the average of the new process', [ttft(10, 5), ttft(3, 2)], 1.5],
    ['a page without the family changes nothing', [ttft(10, 5), ttft(12, 9), {}], 0.5],
  ])('%s', (_name, pages, expected) => {
    const state = new ScrapedState();
    for (const [i, observation] of pages.entries()) state.succeeded(scrape(i, observation));
    expect(state.timeToFirstTokenSeconds).toBe(expected);
  });
});
