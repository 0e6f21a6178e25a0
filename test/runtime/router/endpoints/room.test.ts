import fc from 'fast-check';
import { LiveEndpoint } from '../../../../runtime/router/endpoints/live-endpoint';
import { hasRoom, msUntilRoom } from '../../../../runtime/router/endpoints/room';
import { candidate } from '../../../helpers/candidates';

const CAPACITY = {
  prefillTokensPerSecond: 1000,
  decodeBaseSeconds: 0.01,
  decodePerSequenceSeconds: 0.0001,
  decodePerContextTokenSeconds: 0,
  maxNumSeqs: 3,
  maxNumBatchedTokens: 500,
  kvCapacityTokens: 10_000,
};

const endpoint = (): LiveEndpoint => new LiveEndpoint(candidate(0).endpoint, CAPACITY, true);
const send = (live: LiveEndpoint, uncachedTokens: number, nowMs = 0) =>
  live.ledger.dispatch({ uncachedTokens, kvTokens: uncachedTokens }, nowMs);

describe('room in a pod', () => {
  it('is there below max_num_seqs', () => {
    const live = endpoint();
    const entries = [send(live, 1), send(live, 1)];
    expect(hasRoom(live, 0)).toBe(true);
    entries.push(send(live, 1));
    expect(hasRoom(live, 0)).toBe(false);
    expect(msUntilRoom(live, 0)).toBeUndefined();
    entries[0]!.close(1);
    expect(hasRoom(live, 1)).toBe(true);
  });

  it('is there while fewer than two steps of prompt tokens wait for prefill', () => {
    const live = endpoint();
    send(live, 999);
    expect(hasRoom(live, 0)).toBe(true);
    const second = send(live, 1);
    expect(hasRoom(live, 0)).toBe(false);
    second.prefilled(5);
    expect(hasRoom(live, 5)).toBe(true);
  });

  it('comes back at the modelled end of a prefill, which is known beforehand', () => {
    const live = endpoint();
    send(live, 600);
    send(live, 700);
    expect(hasRoom(live, 0)).toBe(false);
    expect(msUntilRoom(live, 0)).toBe(600);
    expect(msUntilRoom(live, 250)).toBe(350);
    expect([hasRoom(live, 599), hasRoom(live, 600)]).toEqual([false, true]);
  });

  it('counts what other routers have there, as the last scrape said, unless this router has nothing there', () => {
    const live = endpoint();
    live.scraped.succeeded({ atMs: 0, observation: { running: 5, waiting: 1 }, ownRunning: 0, ownKvTokens: 0 });
    expect(hasRoom(live, 0)).toBe(true);
    send(live, 1);
    expect(hasRoom(live, 0)).toBe(false);
    expect(hasRoom(live, 60_000)).toBe(true);
  });

  it('can be bound below the engine’s own limit', () => {
    const live = endpoint();
    send(live, 1);
    expect([hasRoom(live, 0, 2), hasRoom(live, 0, 1)]).toEqual([true, false]);
  });

  it('B21: a full pod always has something in flight, whose release is told', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ tokens: fc.integer({ min: 0, max: 1200 }), prefills: fc.boolean() }), { maxLength: 12 }),
        fc.record({ running: fc.integer({ min: 0, max: 9 }), waiting: fc.integer({ min: 0, max: 9 }) }),
        (sent, observation) => {
          const live = endpoint();
          let told = 0;
          live.ledger.released = () => {
            told += 1;
          };
          live.scraped.succeeded({ atMs: 0, observation, ownRunning: 0, ownKvTokens: 0 });
          const entries = sent.map(({ tokens }) => send(live, tokens));
          if (!hasRoom(live, 0)) expect(live.ledger.running).toBeGreaterThan(0);
          entries.forEach((entry, i) => {
            const before = told;
            if (sent[i]!.prefills) entry.prefilled(1);
            entry.close(2);
            expect(told).toBeGreaterThan(before);
          });
          expect(hasRoom(live, 2)).toBe(true);
        },
      ),
    );
  });
});
