import fc from 'fast-check';
import { seededRandom } from '../../../../runtime/lib/random';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import type { SchedulingRequest } from '../../../../runtime/router/scheduling/attempts';
import type { NextPair, WholePolicy } from '../../../../runtime/router/scheduling/live-pairs';
import type { PairAttempt } from '../../../../runtime/router/scheduling/pair-attempt';
import { createScheduling, type Scheduling } from '../../../../runtime/router/scheduling/scheduling';
import { Labels } from '../../../../src/labels';
import { FakeRouterCluster, modelServerOf, podOf } from '../../../helpers/router-cluster';

const CAPACITY = {
  prefillTokensPerSecond: 1000,
  decodeBaseSeconds: 0.01,
  decodePerSequenceSeconds: 0.0001,
  decodePerContextTokenSeconds: 0,
  maxNumSeqs: 4,
  maxNumBatchedTokens: 8192,
  kvCapacityTokens: 100_000,
};
const NONE: ReadonlySet<string> = new Set();
const PAIRS_ONLY: WholePolicy = { isPossible: false, wholeBelowTokens: 0 };

interface PodShape {
  readonly role: 'p' | 'd';
  readonly group?: string;
  readonly revision?: string;
  readonly isReady?: boolean;
}

const SERVER = modelServerOf('a', {
  workloadSelector: {
    matchLabels: { app: 'a' },
    pdGroup: { groupKey: 'group', prefillLabels: { role: 'p' }, decodeLabels: { role: 'd' } },
  },
});

const pdPodOf = ({ role, group = 'g', revision = 'r', isReady = true }: PodShape, index: number) =>
  podOf('a', index, {
    labels: { app: 'a', role, ...(group === '' ? {} : { group }), ...(revision === '' ? {} : { [Labels.kvRevision]: revision }) },
    ...(isReady ? {} : { status: { conditions: [{ type: 'Ready', status: 'False' as const }] } }),
  });

describe('pairs', () => {
  let clock: VirtualClock;
  let cluster: FakeRouterCluster;
  let scheduling: Scheduling;

  const open = async (pods: readonly PodShape[], profile = 'expected-latency'): Promise<void> => {
    clock = new VirtualClock();
    cluster = new FakeRouterCluster().put(SERVER, ...pods.map(pdPodOf));
    scheduling = await createScheduling({
      cluster,
      clock,
      random: seededRandom(3),
      config: { profile },
      fetchMetrics: () => Promise.reject(new Error('no metrics')),
      capacityOf: () => CAPACITY,
    });
  };
  afterEach(() => scheduling.close());

  const request = (text = 'x'.repeat(8000), changes: Partial<SchedulingRequest> = {}): SchedulingRequest => ({
    modelServer: 'default/a',
    upstreamModel: 'm',
    promptSpans: [Buffer.from(text)],
    promptTokens: Math.ceil(text.length / 4),
    maxOutputTokens: 100,
    streams: true,
    ...changes,
  });
  const next = (
    policy = PAIRS_ONLY,
    tried: Partial<{ excluded: ReadonlySet<string>; doubted: ReadonlySet<string> }> = {},
    of = request(),
  ): NextPair => scheduling.pairs.next(of, { excluded: NONE, doubted: NONE, ...tried }, policy);
  const pairOf = (found: NextPair): PairAttempt => {
    if (found.kind !== 'pair') throw new Error(found.kind === 'none' ? found.message : found.kind);
    return found.attempt;
  };
  const id = (index: number): string => `default/a-${index}#uid-a-${index}`;
  const byName = () => [...scheduling.endpoints.all()].sort((a, b) => (a.endpoint.id < b.endpoint.id ? -1 : 1));
  const loads = () => byName().map(({ inFlight, queuedTokens }) => [inFlight, queuedTokens]);

  it('are of one group and one revision, whatever pods there are', async () => {
    const shape = fc.record({
      role: fc.constantFrom('p' as const, 'd' as const),
      group: fc.constantFrom('', 'g1', 'g2'),
      revision: fc.constantFrom('', 'r1', 'r2'),
      isReady: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(shape, { maxLength: 8 }), async (pods) => {
        await open(pods);
        const pairable = pods.some(
          (p) =>
            p.role === 'p' &&
            p.isReady &&
            p.group !== '' &&
            pods.some((d) => d.role === 'd' && d.isReady && d.group === p.group && d.revision === p.revision),
        );
        const found = next();
        expect(found.kind).toBe(pairable ? 'pair' : 'none');
        if (found.kind === 'pair') {
          const of = (endpoint: { pod: { name: string } }): PodShape => pods[Number(endpoint.pod.name.split('-')[1])]!;
          const [p, d] = [of(found.attempt.prefill), of(found.attempt.endpoint)];
          expect([p.role, d.role, p.group, p.revision]).toEqual(['p', 'd', d.group, d.revision]);
          found.attempt.settle({ kind: 'aborted' });
        }
        expect(loads().every(([inFlight, queued]) => inFlight === 0 && queued === 0)).toBe(true);
        await scheduling.close();
      }),
      { numRuns: 25 },
    );
    await open([]);
  });

  it('are chosen by the sum of prefill, transfer and decode, over all groups', async () => {
    await open([
      { role: 'p', group: 'g1' },
      { role: 'd', group: 'g1' },
      { role: 'p', group: 'g2' },
      { role: 'd', group: 'g2' },
      { role: 'p', group: 'g2' },
    ]);
    const first = pairOf(next());
    const { pairs, prefill, candidates } = first.explain();
    expect(pairs!.map(({ group }) => group)).toEqual(['g1', 'g2']);
    expect(Object.keys(candidates[0]!.terms)).toEqual(['prefill-time', 'decode-time', 'kv-pressure', 'slot-wait', 'link-time']);
    expect(Object.keys(prefill!.candidates[0]!.terms)).toEqual(['prefill-time', 'kv-pressure', 'slot-wait']);
    const cost = Math.min(...prefill!.candidates.map((each) => each.cost)) + Math.min(...candidates.map((each) => each.cost));
    expect(pairs!.find(({ prefill: p }) => p === first.prefill.id)!.cost).toBeCloseTo(cost);
    // Each further prompt goes where the fewest tokens wait.
    const places = [first, ...[1, 2].map((i) => pairOf(next(PAIRS_ONLY, {}, request(String(i).repeat(8000)))))];
    expect(new Set(places.map(({ prefill: p }) => p.id)).size).toBe(3);
    for (const each of places) each.settle({ kind: 'aborted' });
  });

  it('hold entries on both legs, and give each back once however it ends', async () => {
    await open([{ role: 'p' }, { role: 'd' }]);
    const pair = pairOf(next());
    expect(loads()).toEqual([
      [1, 2000],
      [1, 0],
    ]);
    expect(pair.expectedTtftMs).toBeGreaterThan(2000);
    pair.prefilled();
    expect(loads()).toEqual([
      [1, 0],
      [1, 0],
    ]);
    pair.settlePrefill({ kind: 'completed', usage: { promptTokens: 2000, completionTokens: 1 } });
    expect(loads()[0]).toEqual([0, 0]);
    pair.firstToken();
    pair.settle({ kind: 'completed', usage: { promptTokens: 2000, completionTokens: 50 } });
    pair.settle({ kind: 'failed', reason: 'late' });
    expect(loads()).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it("learn prefill from the prefill leg and answers' lengths from decode alone", async () => {
    await open([{ role: 'p' }, { role: 'd' }]);
    const rates = () => byName().map(({ prefillTokensPerSecond }) => prefillTokensPerSecond);
    const pair = pairOf(next(PAIRS_ONLY, {}, request('x'.repeat(8000), { maxOutputTokens: undefined })));
    clock.advance(1000);
    pair.prefilled();
    pair.settlePrefill({ kind: 'completed', usage: { promptTokens: 2000, completionTokens: 1, cachedTokens: 0 } });
    clock.advance(5000);
    pair.firstToken();
    clock.advance(1000);
    pair.settle({ kind: 'completed', usage: { promptTokens: 2000, completionTokens: 50, cachedTokens: 0 } });
    expect(rates()[0]).toBeGreaterThan(1100);
    expect(rates()[1]).toBe(1000);
  });

  it('prefer a prefill pod that has the prompt, and say so', async () => {
    await open([{ role: 'p' }, { role: 'p' }, { role: 'd' }]);
    const first = pairOf(next());
    first.prefilled();
    first.settlePrefill({ kind: 'completed' });
    first.settle({ kind: 'completed' });
    for (let i = 0; i < 5; i++) {
      const again = pairOf(next());
      expect([again.prefill.id, again.predictedCachedTokens]).toEqual([first.prefill.id, expect.any(Number)]);
      expect(again.predictedCachedTokens).toBeGreaterThan(1500);
      again.settle({ kind: 'aborted' });
    }
  });

  it('never take an excluded pod, and a doubted one only where there is no other', async () => {
    await open([{ role: 'p' }, { role: 'p' }, { role: 'd' }, { role: 'd' }]);
    for (let i = 0; i < 10; i++) {
      const pair = pairOf(next(PAIRS_ONLY, { excluded: new Set([id(2)]), doubted: new Set([id(0)]) }));
      expect([pair.prefill.id, pair.endpoint.id]).toEqual([id(1), id(3)]);
      pair.settle({ kind: 'aborted' });
    }
    const left = pairOf(next(PAIRS_ONLY, { doubted: new Set([id(0), id(1)]) }));
    left.settle({ kind: 'aborted' });
    expect(next(PAIRS_ONLY, { excluded: new Set([id(2), id(3)]) })).toMatchObject({ kind: 'none', reason: 'excluded' });
    expect(next(PAIRS_ONLY, { excluded: new Set([id(0), id(1)]) })).toMatchObject({ kind: 'none', reason: 'excluded' });
  });

  it('are weighed against decode alone for short prompts and cached ones, where that is possible', async () => {
    const policy: WholePolicy = { isPossible: true, wholeBelowTokens: 256 };
    await open([{ role: 'p' }, { role: 'd' }]);
    const short = next(policy, {}, request('y'.repeat(400)));
    expect(short).toMatchObject({ kind: 'whole', isForced: false });
    if (short.kind !== 'whole') throw new Error(short.kind);
    expect(short.attempt.explain().pairs!.map(({ prefill }) => prefill)).toEqual([id(0), undefined]);
    short.attempt.settle({ kind: 'aborted' });
    const long = pairOf(next(policy));
    long.prefilled();
    long.settlePrefill({ kind: 'completed' });
    long.settle({ kind: 'completed' });
    // Decode has it by now.
    const cached = next(policy);
    expect(cached.kind).toBe('whole');
    if (cached.kind === 'whole') cached.attempt.settle({ kind: 'aborted' });
    // Answers under way there would be held up by even a short prompt.
    const busy = Array.from({ length: 3 }, (_, i) => pairOf(next(PAIRS_ONLY, {}, request(`${i}`.repeat(8000)))));
    for (const each of busy) {
      each.prefilled();
      each.settlePrefill({ kind: 'completed' });
      each.firstToken();
    }
    const waits = next(policy, {}, request('z'.repeat(1000)));
    expect(waits.kind).toBe('pair');
    if (waits.kind === 'pair') waits.attempt.settle({ kind: 'aborted' });
    for (const each of busy) each.settle({ kind: 'aborted' });
  });

  it('leave decode to do it all where there is no prefill pod', async () => {
    await open([{ role: 'd' }]);
    const found = next({ isPossible: true, wholeBelowTokens: 0 });
    expect(found).toMatchObject({ kind: 'whole', isForced: true });
    if (found.kind === 'whole') found.attempt.settle({ kind: 'aborted' });
    expect(next()).toMatchObject({ kind: 'none', reason: 'no-endpoints' });
  });

  it.each(['least-request', 'random', 'prefix-cache', 'least-latency', 'gpu-usage'])(
    'are chosen by %s too, for each leg',
    async (profile) => {
      await open([{ role: 'p' }, { role: 'p' }, { role: 'd' }, { role: 'd' }], profile);
      const pair = pairOf(next());
      expect(pair.explain().profile).toBe(profile);
      pair.settle({ kind: 'aborted' });
    },
  );

  it.each<[string, readonly PodShape[], number]>([
    [
      'no group in common',
      [
        { role: 'p', group: 'g1' },
        { role: 'd', group: 'g2' },
      ],
      1,
    ],
    [
      'no revision in common',
      [
        { role: 'p', revision: 'r1' },
        { role: 'd', revision: 'r2' },
      ],
      1,
    ],
    ['a pair', [{ role: 'p' }, { role: 'd' }], 0],
    ['one role only', [{ role: 'p' }], 0],
  ])('are looked for by a finding: %s', async (_name, pods, count) => {
    await open(pods);
    expect(scheduling.findings().filter(({ code }) => code === 'routing/no-pair')).toHaveLength(count);
  });
});
