import fc from 'fast-check';
import { LiveEndpoint } from '../../../../runtime/router/endpoints/live-endpoint';
import { candidateOf } from '../../../../runtime/router/scheduling/candidate-view';
import { candidate } from '../../../helpers/candidates';

const CAPACITY = {
  prefillTokensPerSecond: 1000,
  decodeBaseSeconds: 0.01,
  decodePerSequenceSeconds: 0.0001,
  decodePerContextTokenSeconds: 0,
  maxNumSeqs: 16,
  maxNumBatchedTokens: 8192,
  kvCapacityTokens: 10_000,
};

/** An endpoint with two requests in flight that hold 2000 tokens of KV. */
function busy(): LiveEndpoint {
  const live = new LiveEndpoint(candidate(0).endpoint, CAPACITY, true);
  for (let i = 0; i < 2; i++) live.ledger.dispatch({ uncachedTokens: 300, kvTokens: 1000 }, 0);
  return live;
}

const at = (live: LiveEndpoint, nowMs: number, usesSeeds = false) => candidateOf(live, { cachedTokens: 0, nowMs, usesSeeds });

describe('the view of an endpoint', () => {
  it('is what the router itself sent when nothing was scraped', () => {
    expect(at(busy(), 0)).toMatchObject({
      onFlight: 2,
      running: 2,
      queuedTokens: 600,
      contextTokens: 2000,
      kvUsage: 0.2,
      maxNumSeqs: 16,
      scraped: {},
    });
  });

  it('adds what others sent, by the difference between the scrape and what was in flight then, fading with age', () => {
    const live = busy();
    live.scraped.succeeded({ atMs: 0, observation: { running: 6, waiting: 1, kvUsage: 0.5 }, ownRunning: 2, ownKvTokens: 2000 });
    expect(at(live, 0)).toMatchObject({ running: 7, contextTokens: 2000 + 5 * 1024, kvUsage: 0.5 });
    expect(at(live, 5000).running).toBeCloseTo(2 + 5 / 2);
    expect(at(live, 5000).kvUsage).toBeCloseTo(0.2 + 0.3 / 2);
    live.ledger.dispatch({ uncachedTokens: 1, kvTokens: 1000 }, 0);
    expect(at(live, 0).running).toBe(8);
    expect(at(live, 0).kvUsage).toBeCloseTo(0.6);
  });

  it('never has fewer running than the router sent, and takes a cache that is emptier than expected as such', () => {
    const live = busy();
    live.scraped.succeeded({ atMs: 0, observation: { running: 0, waiting: 0, kvUsage: 0.05 }, ownRunning: 2, ownKvTokens: 2000 });
    expect(at(live, 0).running).toBe(2);
    expect(at(live, 0).kvUsage).toBeCloseTo(0.05);
  });

  it('takes a part that a page lacks as unknown', () => {
    const live = busy();
    live.scraped.succeeded({ atMs: 0, observation: { waiting: 5 }, ownRunning: 2, ownKvTokens: 2000 });
    expect(at(live, 0)).toMatchObject({ running: 2, kvUsage: 0.2, scraped: { waiting: 5 } });
    expect(at(live, 0).scraped).not.toHaveProperty('running');
  });

  it('no longer quotes an engine after half a minute of silence, whose low load would attract traffic for ever', () => {
    const live = busy();
    live.scraped.succeeded({ atMs: 0, observation: { running: 1, waiting: 0, kvUsage: 0 }, ownRunning: 2, ownKvTokens: 2000 });
    expect(at(live, 30_000).scraped).toEqual({ running: 1, waiting: 0, kvUsage: 0 });
    expect(at(live, 30_001).scraped).toEqual({});
  });

  it('uses the capacity that the engine tells before the one that its flags let expect', () => {
    const live = busy();
    live.scraped.succeeded({ atMs: 0, observation: { kvCapacityTokens: 4000 }, ownRunning: 2, ownKvTokens: 2000 });
    expect(at(live, 0).kvUsage).toBeCloseTo(0.5);
  });

  it('explores with seed rates and the same queue', () => {
    const live = busy();
    for (let i = 0; i < 20; i++) live.rates.observePrefill(1000, 10, 0);
    const learned = at(live, 100);
    const explored = at(live, 100, true);
    expect(learned.prefillTokensPerSecond).toBeLessThan(200);
    expect(explored.prefillTokensPerSecond).toBe(1000);
    expect(explored.queuedTokens).toBe(learned.queuedTokens);
  });

  it('is finite whatever was scraped, however long ago', () => {
    const value = fc.option(fc.double({ min: 0, max: 1e12, noNaN: true }), { nil: undefined });
    fc.assert(
      fc.property(fc.record({ running: value, waiting: value, kvUsage: value }), fc.nat(1e9), (parts, nowMs) => {
        const observation = Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined));
        const live = busy();
        live.scraped.succeeded({ atMs: 0, observation, ownRunning: 2, ownKvTokens: 2000 });
        const view = at(live, nowMs);
        for (const number of [view.running, view.queuedTokens, view.kvUsage, view.prefillTokensPerSecond]) {
          expect(Number.isFinite(number) && number >= 0).toBe(true);
        }
        expect(view.kvUsage).toBeLessThanOrEqual(1);
      }),
    );
  });
});
