import { seededRandom } from '../../../../runtime/lib/random';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import type { Attempt, AttemptOutcome, NextAttempt, SchedulingRequest } from '../../../../runtime/router/scheduling/attempts';
import { createScheduling, type Scheduling } from '../../../../runtime/router/scheduling/scheduling';
import { FakeRouterCluster, modelServerOf, podOf } from '../../../helpers/router-cluster';

const CAPACITY = {
  prefillTokensPerSecond: 1000,
  decodeBaseSeconds: 0.01,
  decodePerSequenceSeconds: 0.0001,
  decodePerContextTokenSeconds: 0,
  maxNumSeqs: 4,
  maxNumBatchedTokens: 8192,
  kvCapacityTokens: 10_000,
};
const NONE: ReadonlySet<string> = new Set();

function requestFor(text: string, changes: Partial<SchedulingRequest> = {}): SchedulingRequest {
  const promptSpans = [Buffer.from(text)];
  return {
    modelServer: 'default/a',
    upstreamModel: 'm',
    promptSpans,
    promptTokens: Math.ceil(text.length / 4),
    streams: true,
    ...changes,
  };
}

/** A prompt of so many bytes that shares nothing with another letter's. */
const prompt = (letter: string, bytes: number): string => letter.repeat(bytes);

function attemptOf(next: NextAttempt): Attempt {
  if (next.kind === 'none') throw new Error(next.message);
  return next.attempt;
}

describe('attempts', () => {
  let clock: VirtualClock;
  let cluster: FakeRouterCluster;
  let scheduling: Scheduling;

  const open = async (pods: number, profile = 'expected-latency'): Promise<void> => {
    clock = new VirtualClock();
    cluster = new FakeRouterCluster().put(modelServerOf('a'), ...Array.from({ length: pods }, (_, i) => podOf('a', i)));
    scheduling = await createScheduling({
      cluster,
      clock,
      random: seededRandom(3),
      config: { profile },
      fetchMetrics: () => Promise.reject(new Error('no metrics')),
      capacityOf: () => CAPACITY,
    });
  };
  const next = (request: SchedulingRequest, excluded = NONE): NextAttempt => scheduling.attempts.next(request, excluded);
  const restingPlaces = () => scheduling.endpoints.all().map(({ inFlight, queuedTokens }) => [inFlight, queuedTokens]);

  afterEach(() => scheduling.close());

  const outcomes: readonly AttemptOutcome[] = [
    { kind: 'completed' },
    { kind: 'completed', usage: { promptTokens: 500, completionTokens: 20, cachedTokens: 0 } },
    { kind: 'refused', status: 400 },
    { kind: 'refused', status: 500 },
    { kind: 'failed', reason: 'connect ECONNREFUSED' },
    { kind: 'aborted' },
  ];
  describe.each([false, true])('with its first token seen: %s', (isFirstTokenSeen) => {
    it.each(outcomes)('gives everything back once on %j', async (outcome) => {
      await open(1);
      const text = prompt('x', 2048);
      const attempt = attemptOf(next(requestFor(text)));
      expect(restingPlaces()).toEqual([[1, 512]]);
      if (isFirstTokenSeen) attempt.firstToken();
      expect(restingPlaces()).toEqual([[1, isFirstTokenSeen ? 0 : 512]]);
      clock.advance(10);
      attempt.settle(outcome);
      attempt.settle({ kind: 'failed', reason: 'late' });
      attempt.firstToken();
      expect(restingPlaces()).toEqual([[0, 0]]);
      const isKept = isFirstTokenSeen || outcome.kind === 'completed';
      expect(attemptOf(next(requestFor(text))).predictedCachedTokens).toBe(isKept ? 512 : 0);
    });
  });

  it('send the next turn of a conversation to the pod that has the last one', async () => {
    await open(4);
    const turns = [1, 2, 3, 4].map((turn) => prompt('s', 4096) + prompt('t', 512 * turn));
    const first = attemptOf(next(requestFor(turns[0]!)));
    first.firstToken();
    first.settle({ kind: 'completed' });
    for (const turn of turns.slice(1)) {
      const attempt = attemptOf(next(requestFor(turn)));
      expect(attempt.endpoint.id).toBe(first.endpoint.id);
      expect(attempt.predictedCachedTokens).toBeGreaterThanOrEqual(1024);
      attempt.firstToken();
      attempt.settle({ kind: 'completed' });
    }
  });

  it('spread a burst of unlike prompts over all pods', async () => {
    await open(4);
    const letters = [...'abcdefgh'];
    const used = letters.map((letter) => attemptOf(next(requestFor(prompt(letter, 2048)))).endpoint.slot);
    expect([0, 1, 2, 3].map((slot) => used.filter((each) => each === slot).length)).toEqual([2, 2, 2, 2]);
  });

  it('never use an excluded endpoint, and say when all were tried', async () => {
    await open(2);
    const request = requestFor('hello');
    const tried = new Set<string>();
    for (let i = 0; i < 2; i++) {
      const attempt = attemptOf(next(request, tried));
      expect(tried.has(attempt.endpoint.id)).toBe(false);
      tried.add(attempt.endpoint.id);
      attempt.settle({ kind: 'failed', reason: 'reset' });
      if (i === 1) expect(attempt.explain().removed).toEqual({ excluded: [[...tried][0]] });
    }
    expect(next(request, tried)).toMatchObject({ kind: 'none', reason: 'excluded' });
  });

  it('say that nobody is there for an unknown server, and for one whose pods are not ready or drained', async () => {
    await open(1);
    expect(next(requestFor('x', { modelServer: 'default/none' }))).toMatchObject({ reason: 'no-endpoints' });
    cluster.put(podOf('a', 0, { annotations: { 'kvasir.dev/drain': 'true' } }));
    expect(next(requestFor('x'))).toMatchObject({ kind: 'none', reason: 'no-endpoints' });
  });

  it('let a stream to a pod that goes run to its end without a trace in its successor', async () => {
    await open(1);
    const attempt = attemptOf(next(requestFor(prompt('x', 2048))));
    cluster.put(podOf('a', 0, { uid: 'successor' }));
    expect(restingPlaces()).toEqual([[0, 0]]);
    attempt.firstToken();
    attempt.settle({ kind: 'completed', usage: { promptTokens: 512, completionTokens: 5 } });
    const later = attemptOf(next(requestFor(prompt('x', 2048))));
    expect([later.endpoint.pod.uid, later.predictedCachedTokens]).toEqual(['successor', 0]);
  });

  it('leave out a pod that fails five times in a row, until its probe succeeds', async () => {
    await open(3);
    const bad = attemptOf(next(requestFor('x'))).endpoint.id;
    const others = new Set(scheduling.endpoints.all().map(({ endpoint }) => endpoint.id));
    others.delete(bad);
    for (let i = 0; i < 5; i++) attemptOf(next(requestFor('x'), others)).settle({ kind: 'refused', status: 500 });
    const after = Array.from({ length: 30 }, () => attemptOf(next(requestFor('x'))));
    expect(after.some(({ endpoint }) => endpoint.id === bad)).toBe(false);
    expect(after[0]!.explain().removed).toEqual({ outlier: [bad] });
    for (const attempt of after) attempt.settle({ kind: 'completed' });
    clock.advance(31_000);
    attemptOf(next(requestFor('x'), others)).settle({ kind: 'completed' });
    expect(scheduling.endpoints.all().every(({ isEjected }) => !isEjected)).toBe(true);
  });

  it.each([400, 404, 429, 503])('do not hold status %d against a pod: it is no sign that the pod is broken', async (status) => {
    await open(3);
    const [, ...others] = scheduling.endpoints.all().map(({ endpoint }) => endpoint.id);
    for (let i = 0; i < 10; i++) attemptOf(next(requestFor('x'), new Set(others))).settle({ kind: 'refused', status });
    expect(scheduling.endpoints.all().filter(({ isEjected }) => isEjected)).toEqual([]);
  });

  it('take no prefill rate from a request that waited behind another', async () => {
    await open(1);
    attemptOf(next(requestFor(prompt('a', 8192))));
    const waiting = attemptOf(next(requestFor(prompt('b', 2048))));
    clock.advance(1900);
    waiting.firstToken();
    waiting.settle({ kind: 'completed', usage: { promptTokens: 512, completionTokens: 1, cachedTokens: 0 } });
    expect(scheduling.endpoints.all()[0]!.prefillTokensPerSecond).toBeCloseTo(CAPACITY.prefillTokensPerSecond);
  });

  it('take no time of others’ prefills for decoding', async () => {
    await open(1);
    const decodeTerm = (): number => {
      const attempt = attemptOf(next(requestFor('probe', { promptTokens: 1 })));
      const term = attempt.explain().candidates[0]!.terms['decode-time']!;
      attempt.settle({ kind: 'aborted' });
      return term;
    };
    const before = decodeTerm();
    for (let i = 0; i < 20; i++) {
      // 100 tokens at 10 ms each, held up for two seconds by another's 2000 tokens at 1000 tokens/s.
      const answering = attemptOf(next(requestFor(`question ${i}`)));
      answering.firstToken();
      const other = attemptOf(next(requestFor(prompt(String(i), 8000))));
      clock.advance(2000);
      other.firstToken();
      other.settle({ kind: 'aborted' });
      clock.advance(1000);
      answering.settle({ kind: 'completed', usage: { promptTokens: 3, completionTokens: 100, cachedTokens: 0 } });
    }
    // The estimate of an answer's length has moved from 256 to 100 tokens; with the prefills in it, time per token would be threefold.
    expect(decodeTerm() / before).toBeLessThan(0.45);
  });

  it('still use the only pod of a server, however often it fails', async () => {
    await open(1);
    for (let i = 0; i < 20; i++) attemptOf(next(requestFor('x'))).settle({ kind: 'failed', reason: 'reset' });
    expect(next(requestFor('x')).kind).toBe('attempt');
  });

  it('explain a decision with every term of every candidate', async () => {
    await open(2);
    const attempt = attemptOf(next(requestFor(prompt('x', 4000))));
    const { profile, candidates, removed, scrapeAgeMs } = attempt.explain();
    expect([profile, removed, scrapeAgeMs]).toEqual(['expected-latency', {}, undefined]);
    expect(candidates).toHaveLength(2);
    for (const { terms, cost } of candidates) {
      expect(Object.keys(terms)).toEqual(['prefill-time', 'decode-time', 'kv-pressure', 'slot-wait']);
      expect(Object.values(terms).reduce((sum, term) => sum + term, 0)).toBeCloseTo(cost);
    }
    // 1000 uncached tokens at 1000 a second, then one step of 10.1 ms.
    expect(attempt.expectedTtftMs).toBeCloseTo(1010.1);
  });

  it('learn that a pod is slow, and send less to it', async () => {
    await open(2);
    const slow = 0;
    for (let i = 0; i < 40; i++) {
      const attempt = attemptOf(next(requestFor(`${i}`.padEnd(2048, 'x'))));
      clock.advance(attempt.endpoint.slot === slow ? 5000 : 500);
      attempt.firstToken();
      attempt.settle({ kind: 'completed', usage: { promptTokens: 512, completionTokens: 1, cachedTokens: 0 } });
    }
    const [first, second] = scheduling.endpoints.all();
    expect(first!.prefillTokensPerSecond).toBeLessThan(second!.prefillTokensPerSecond);
    const used = Array.from({ length: 20 }, (_, i) => {
      const attempt = attemptOf(next(requestFor(`y${i}`.padEnd(2048, 'y'))));
      attempt.settle({ kind: 'aborted' });
      return attempt.endpoint.slot;
    });
    expect(used.filter((slot) => slot === slow).length).toBeLessThanOrEqual(2);
  });

  it('keep adapters of one model apart', async () => {
    await open(1);
    const text = prompt('x', 2048);
    attemptOf(next(requestFor(text, { adapter: 'one' }))).settle({ kind: 'completed' });
    expect(attemptOf(next(requestFor(text, { adapter: 'two' }))).predictedCachedTokens).toBe(0);
    expect(attemptOf(next(requestFor(text))).predictedCachedTokens).toBe(0);
    expect(attemptOf(next(requestFor(text, { adapter: 'one' }))).predictedCachedTokens).toBe(512);
  });

  it('forget no more and no less than the pod: its KV cache bounds what it is believed to hold', async () => {
    await open(1);
    for (let i = 0; i < 40; i++) attemptOf(next(requestFor(`${i}`.padEnd(4096, 'x')))).settle({ kind: 'completed' });
    const [{ indexedBytes } = { indexedBytes: 0 }] = scheduling.endpoints.all();
    expect(indexedBytes).toBeLessThanOrEqual(4 * CAPACITY.kvCapacityTokens);
    expect(indexedBytes).toBeGreaterThan(3.9 * CAPACITY.kvCapacityTokens);
  });

  it('under least-request go to the pod with the fewest in flight', async () => {
    await open(3, 'least-request');
    const used = Array.from({ length: 9 }, () => attemptOf(next(requestFor('x'))).endpoint.slot);
    expect([0, 1, 2].map((slot) => used.filter((each) => each === slot).length)).toEqual([3, 3, 3]);
  });
});
