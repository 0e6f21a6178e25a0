import fc from 'fast-check';
import { seededRandom } from '../../../../../runtime/lib/random';
import { VirtualClock } from '../../../../../runtime/lib/virtual-clock';
import type { PlaceTable } from '../../../../../runtime/router/cache/replication/place-table';
import { ResponseOwners } from '../../../../../runtime/router/responses/response-owners';
import type { Attempt, SchedulingRequest } from '../../../../../runtime/router/scheduling/attempts';
import { createScheduling, type Scheduling } from '../../../../../runtime/router/scheduling/scheduling';
import { LossyLinks } from '../../../../helpers/lossy-links';
import { FakeRouterCluster, modelServerOf, podOf } from '../../../../helpers/router-cluster';

const CAPACITY = {
  prefillTokensPerSecond: 1000,
  decodeBaseSeconds: 0.01,
  decodePerSequenceSeconds: 0.0001,
  decodePerContextTokenSeconds: 0,
  maxNumSeqs: 100,
  maxNumBatchedTokens: 8192,
  kvCapacityTokens: 100_000,
};
const NONE: ReadonlySet<string> = new Set();
/** What a batch waits for, and the wire. */
const SOON_MS = 5;

function requestFor(text: string, changes: Partial<SchedulingRequest> = {}): SchedulingRequest {
  return {
    modelServer: 'default/a',
    upstreamModel: 'm',
    promptSpans: [Buffer.from(text)],
    promptTokens: Math.ceil(text.length / 4),
    streams: true,
    ...changes,
  };
}

const prompt = (letter: string): string => letter.repeat(20_000);

describe('routers side by side', () => {
  let clock: VirtualClock;
  let links: LossyLinks;
  let opened: Scheduling[];

  const cluster = (pods = 2): FakeRouterCluster =>
    new FakeRouterCluster().put(modelServerOf('a'), ...Array.from({ length: pods }, (_, i) => podOf('a', i)));
  const open = async (name: string, secret?: string, of = cluster(), places: readonly PlaceTable[] = []): Promise<Scheduling> => {
    const made = await createScheduling({
      cluster: of,
      clock,
      random: seededRandom(name.charCodeAt(0)),
      config: { profile: 'expected-latency' },
      fetchMetrics: () => Promise.reject(new Error('no metrics')),
      capacityOf: () => CAPACITY,
      replication: links.link(name, secret),
      places,
    });
    opened.push(made);
    return made;
  };
  /** Two that know each other. */
  const two = async (): Promise<readonly [Scheduling, Scheduling]> => {
    const pair = [await open('a'), await open('b')] as const;
    clock.advance(600);
    return pair;
  };
  const dispatch = (router: Scheduling, text = prompt('x'), changes?: Partial<SchedulingRequest>): Attempt => {
    const next = router.attempts.next(requestFor(text, changes), NONE);
    if (next.kind === 'none') throw new Error(next.message);
    return next.attempt;
  };
  const inFlight = (router: Scheduling): number => router.endpoints.all().reduce((sum, each) => sum + each.inFlight, 0);
  const queued = (router: Scheduling): number => router.endpoints.all().reduce((sum, each) => sum + each.queuedTokens, 0);
  /** What a router expects to be cached of a prompt, without keeping the request. */
  const cachedTokens = (router: Scheduling, text: string): number => {
    const attempt = dispatch(router, text);
    attempt.settle({ kind: 'aborted' });
    return attempt.predictedCachedTokens ?? 0;
  };

  beforeEach(() => {
    clock = new VirtualClock();
    links = new LossyLinks(clock);
    opened = [];
  });
  afterEach(() => Promise.all(opened.map((each) => each.close())));

  it('count what the others send where within 5 ms and the time on the wire', async () => {
    const [a, b] = await two();
    const attempt = dispatch(a);
    expect([inFlight(a), inFlight(b)]).toEqual([1, 0]);
    clock.advance(SOON_MS);
    expect(b.endpoints.all().find(({ endpoint }) => endpoint.id === attempt.endpoint.id)).toMatchObject({ inFlight: 1 });
    expect(queued(b)).toBe(5_000);
    attempt.firstToken();
    clock.advance(SOON_MS);
    expect([inFlight(b), queued(b)]).toEqual([1, 0]);
    attempt.settle({ kind: 'completed' });
    clock.advance(SOON_MS);
    expect(inFlight(b)).toBe(0);
  });

  it('send a request where another has sent its beginning', async () => {
    const [a, b] = await two();
    const first = dispatch(a, prompt('x'));
    first.firstToken();
    first.settle({ kind: 'completed' });
    clock.advance(SOON_MS);
    const second = dispatch(b, prompt('x'));
    expect(second.endpoint.id).toBe(first.endpoint.id);
    expect(second.predictedCachedTokens).toBeGreaterThan(4_000);
  });

  it('forget a prompt that the other could not deliver', async () => {
    const [a, b] = await two();
    const failed = dispatch(a, prompt('x'));
    clock.advance(SOON_MS);
    expect(cachedTokens(b, prompt('x'))).toBeGreaterThan(4_000);
    failed.settle({ kind: 'failed', reason: 'reset' });
    clock.advance(SOON_MS);
    expect(cachedTokens(b, prompt('x'))).toBe(0);
  });

  it('do not agree on hashes with those that have another secret, and count nothing of theirs', async () => {
    const [a, b] = [await open('a'), await open('b', 'a secret of somebody else')];
    clock.advance(600);
    dispatch(a);
    clock.advance(600);
    expect(inFlight(b)).toBe(0);
    expect(await links.metric('b', 'kvasir_replication_refused_total{reason="unsigned"}')).toBeGreaterThan(2);
    expect(await links.metric('b', 'kvasir_replication_peers')).toBe(0);
  });

  it('drop the share of one that is silent for a second, and take it up again when it is back', async () => {
    const [a, b] = await two();
    const attempt = dispatch(a);
    attempt.firstToken();
    clock.advance(SOON_MS);
    links.passes = () => false;
    clock.advance(900);
    expect(inFlight(b)).toBe(1);
    clock.advance(500);
    expect(inFlight(b)).toBe(0);
    expect(await links.metric('b', 'kvasir_replication_peers')).toBe(0);
    expect(await links.metric('b', 'kvasir_replication_shares_dropped_total{reason="silent"}')).toBe(1);
    links.passes = () => true;
    clock.advance(600);
    expect(inFlight(b)).toBe(1);
    attempt.settle({ kind: 'completed' });
    clock.advance(SOON_MS);
    expect(inFlight(b)).toBe(0);
  });

  it('drop the share of one that ends at once', async () => {
    const [a, b] = await two();
    dispatch(a);
    clock.advance(SOON_MS);
    await a.close();
    clock.advance(SOON_MS);
    expect(inFlight(b)).toBe(0);
    expect(await links.metric('b', 'kvasir_replication_shares_dropped_total{reason="left"}')).toBe(1);
  });

  it('go on counting what one has that is leaving, until it ends', async () => {
    const [a, b] = await two();
    const attempt = dispatch(a);
    a.leaving();
    clock.advance(SOON_MS);
    expect(inFlight(b)).toBe(1);
    clock.advance(300);
    const c = await open('c');
    clock.advance(600);
    // The newcomer, and not the one that leaves.
    expect(await links.metric('b', 'kvasir_replication_peers')).toBe(1);
    expect(await links.metric('c', 'kvasir_replication_peers')).toBe(1);
    expect(inFlight(c)).toBe(1);
    attempt.settle({ kind: 'completed' });
    clock.advance(SOON_MS);
    expect([inFlight(b), inFlight(c)]).toEqual([0, 0]);
  });

  it('ask for everything after a gap', async () => {
    const [a, b] = await two();
    const kept = dispatch(a, prompt('x'));
    const over = dispatch(a, prompt('y'));
    clock.advance(SOON_MS);
    links.passes = () => false;
    over.settle({ kind: 'completed' });
    dispatch(a, prompt('z'));
    clock.advance(SOON_MS);
    links.passes = () => true;
    expect(inFlight(b)).toBe(2);
    clock.advance(300);
    expect([inFlight(a), inFlight(b)]).toEqual([2, 2]);
    expect(await links.metric('b', 'kvasir_replication_gaps_total')).toBe(1);
    kept.settle({ kind: 'completed' });
    clock.advance(SOON_MS);
    expect(inFlight(b)).toBe(1);
  });

  it('tell a newcomer what is in flight and what pods have cached', async () => {
    const [a, b] = await two();
    dispatch(a);
    const kept = dispatch(b, prompt('k'));
    kept.firstToken();
    kept.settle({ kind: 'completed' });
    clock.advance(SOON_MS);
    const c = await open('c');
    clock.advance(600);
    expect(inFlight(c)).toBe(1);
    expect(cachedTokens(c, prompt('k'))).toBe(cachedTokens(a, prompt('k')));
    expect(cachedTokens(c, prompt('k'))).toBeGreaterThan(4_000);
  });

  it('tell where sessions and responses are: at once, after a gap, and to a newcomer', async () => {
    const tables = ['a', 'b', 'c'].map(() => new ResponseOwners(clock, { maxEntries: 1_000, ttlMs: 3_600_000 }));
    const owner = {
      ...{ model: 'm', tenant: undefined, route: 'default/r', target: 'server a', isAdapter: false, endpointId: 'pod' },
    };
    const knows = (at: number, ...ids: string[]) => ids.map((id) => tables[at]!.find(id, undefined) !== undefined);
    const [a] = [await open('a', undefined, cluster(), [tables[0]!]), await open('b', undefined, cluster(), [tables[1]!])];
    clock.advance(600);
    tables[0]!.note('at once', owner);
    clock.advance(1);
    expect(knows(1, 'at once')).toEqual([true]);
    links.passes = () => false;
    tables[0]!.note('lost', owner);
    clock.advance(10);
    links.passes = () => true;
    expect(knows(1, 'lost')).toEqual([false]);
    clock.advance(300);
    expect(knows(1, 'lost')).toEqual([true]);
    for (let i = 0; i < 900; i++) tables[0]!.note(`r${i}`, owner);
    await a.close();
    await open('c', undefined, cluster(), [tables[2]!]);
    clock.advance(600);
    const all = ['at once', 'lost', ...Array.from({ length: 900 }, (_, i) => `r${i}`)];
    expect(knows(2, ...all)).toEqual(all.map(() => true));
  });

  it('count requests to a pod that they get to know later', async () => {
    const late = cluster(1);
    const [a, b] = [await open('a', undefined, cluster(2)), await open('b', undefined, late)];
    clock.advance(600);
    const text = [...'abcdefgh'].map(prompt).find((each) => {
      const attempt = dispatch(a, each);
      if (attempt.endpoint.pod.name === 'a-1') return true;
      attempt.settle({ kind: 'completed' });
      return false;
    });
    clock.advance(SOON_MS);
    expect(text).toBeDefined();
    expect(inFlight(b)).toBe(0);
    late.put(podOf('a', 1));
    expect(inFlight(b)).toBe(1);
  });

  it('are not deceived by what was recorded before', async () => {
    const [a, b] = await two();
    const attempt = dispatch(a);
    clock.advance(SOON_MS);
    attempt.settle({ kind: 'completed' });
    clock.advance(SOON_MS);
    const recorded = links.wire.filter(({ from }) => from === 'a').map(({ frame }) => frame);
    for (const frame of recorded) links.inject('b', frame);
    expect(inFlight(b)).toBe(0);
    // Questions neither: `a` does not answer once more.
    clock.advance(200);
    const before = links.wire.length;
    for (const { from, frame } of links.wire.slice()) if (from === 'b') links.inject('a', frame);
    expect(links.wire.length).toBe(before);
    expect(await links.metric('b', 'kvasir_replication_refused_total{reason="repeated"}')).toBeGreaterThan(2);
    // One that never knew the sender, which is gone now.
    await a.close();
    const c = await open('c');
    clock.advance(600);
    for (const frame of recorded) links.inject('c', frame);
    clock.advance(600);
    expect(inFlight(c)).toBe(0);
  });

  it('survive garbage, and what is signed and yet makes no sense', async () => {
    const [a, b] = await two();
    const random = seededRandom(5);
    for (let i = 0; i < 200; i++) {
      const bytes = Buffer.from(Array.from({ length: Math.floor(random.next() * 300) }, () => Math.floor(random.next() * 256)));
      links.inject('b', bytes);
      links.inject('b', Buffer.concat([Buffer.from('KVR1'), bytes]));
    }
    expect(await links.metric('b', 'kvasir_replication_refused_total{reason="malformed"}')).toBeGreaterThan(100);
    dispatch(a);
    clock.advance(SOON_MS);
    expect(inFlight(b)).toBe(1);
  });

  it('have the same requests in flight again, whatever was lost on the way', async () => {
    const step = fc.record({
      router: fc.nat(2),
      what: fc.constantFrom('dispatch' as const, 'first token' as const, 'end' as const, 'fail' as const),
      which: fc.nat(),
      waitMs: fc.constantFrom(0, 1, 3, 50, 400),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer(), async (steps, seed) => {
        clock = new VirtualClock();
        links = new LossyLinks(clock);
        const routers = [await open('a'), await open('b'), await open('c')];
        const random = seededRandom(seed);
        clock.advance(600);
        links.passes = () => random.next() > 0.3;
        const live: Attempt[][] = routers.map(() => []);
        for (const { router, what, which, waitMs } of steps) {
          const own = live[router]!;
          const attempt = own[which % Math.max(1, own.length)];
          if (what === 'dispatch') own.push(dispatch(routers[router]!, prompt('abcdef'[which % 6]!)));
          else if (what === 'first token') attempt?.firstToken();
          else if (attempt !== undefined) {
            attempt.settle(what === 'end' ? { kind: 'completed' } : { kind: 'failed', reason: 'reset' });
            own.splice(own.indexOf(attempt), 1);
          }
          clock.advance(waitMs);
        }
        links.passes = () => true;
        clock.advance(2_000);
        const expected = live.flat().length;
        expect(routers.map(inFlight)).toEqual([expected, expected, expected]);
        for (const attempt of live.flat()) attempt.settle({ kind: 'completed' });
        clock.advance(2_000);
        expect(routers.map((each) => [inFlight(each), queued(each)])).toEqual(routers.map(() => [0, 0]));
        await Promise.all(opened.splice(0).map((each) => each.close()));
      }),
      { numRuns: 6 },
    );
  });
});
