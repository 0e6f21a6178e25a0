import fc from 'fast-check';
import { seededRandom } from '../../../../../runtime/lib/random';
import { VirtualClock } from '../../../../../runtime/lib/virtual-clock';
import type { Candidate } from '../../../../../runtime/router/scheduling/candidate';
import { expectedLatency } from '../../../../../runtime/router/scheduling/expected-latency';
import { podPrice } from '../../../../../runtime/router/scheduling/plugins/pod-price';
import { schedule } from '../../../../../runtime/router/scheduling/scheduler';
import { createScheduling } from '../../../../../runtime/router/scheduling/scheduling';
import { Annotations } from '../../../../../src/labels';
import { anyPool, anyRequest, candidate, scheduledRequest } from '../../../../helpers/candidates';
import { FakeRouterCluster, modelServerOf, podOf } from '../../../../helpers/router-cluster';

const priced = (slot: number, costPerHour: number | undefined, changes: Partial<Candidate> = {}): Candidate => {
  const made = candidate(slot, changes);
  return { ...made, endpoint: { ...made.endpoint, costPerHour } };
};

function cost(work: 'prompt' | 'whole', pod: Candidate, secondsPerUnit = 3_600): number {
  const out = new Float64Array(1);
  podPrice(secondsPerUnit, work).score(scheduledRequest(), [pod], out);
  return out[0]!;
}

describe('what a request costs at a pod', () => {
  it('is the pod’s price for the time that it works on the prompt and on its share of each step', () => {
    // 1,000 tokens at 10,000/s, and 100 steps of 10 ms shared by two, and 0.1 ms of its own.
    expect(cost('prompt', priced(0, 2))).toBeCloseTo(2 * 0.1);
    expect(cost('whole', priced(0, 2, { running: 1 }))).toBeCloseTo(2 * (0.1 + 100 * (0.005 + 0.0001)));
    expect(cost('whole', priced(0, 2, { cachedTokens: 1_000 }), 360)).toBeCloseTo(0.1 * 2 * 100 * 0.0101);
  });

  it('is nothing where nobody knows a price', () => {
    expect(cost('whole', priced(0, undefined))).toBe(0);
  });

  it('is finite and not below 0, whatever the numbers', () => {
    fc.assert(
      fc.property(anyRequest, anyPool, fc.double({ min: 0, max: 1e6, noNaN: true }), (request, pool, costPerHour) => {
        const out = new Float64Array(pool.length);
        const pods = pool.map((each) => ({ ...each, endpoint: { ...each.endpoint, costPerHour } }));
        podPrice(1_000, 'whole').score(request, pods, out);
        for (const each of out) expect(Number.isFinite(each) && each >= 0).toBe(true);
      }),
    );
  });
});

describe('expected-latency with prices', () => {
  const pick = (secondsPerUnit: number | undefined, pool: readonly Candidate[]): number => {
    const outcome = schedule(expectedLatency('e2e', undefined, secondsPerUnit), scheduledRequest(), pool, seededRandom(1));
    if (outcome.kind !== 'picked') throw new Error('nobody was picked');
    return outcome.decision.picked.endpoint.slot;
  };
  // The dear one is idle, the cheap one has half a second of prompts before this one.
  const pool = [priced(0, 10), priced(1, 1, { queuedTokens: 5_000 })];

  it('waits for the cheaper pod where the difference is worth it, and not where it is not', () => {
    expect([undefined, 1, 2_000].map((secondsPerUnit) => pick(secondsPerUnit, pool))).toEqual([0, 0, 1]);
  });

  it('counts the prompt’s price at the pod that prefills, and the answer’s at the one that decodes', () => {
    const { pair } = expectedLatency('e2e', undefined, 100);
    expect([pair!.prefill, pair!.decode].map((leg) => leg.at(-1)!.scorer.name)).toEqual(['pod-price', 'pod-price']);
    expect(expectedLatency('e2e').pair!.decode.map(({ scorer }) => scorer.name)).not.toContain('pod-price');
  });

  it('reads prices from pods', async () => {
    const cluster = new FakeRouterCluster().put(modelServerOf('a'));
    for (const [i, price] of ['9.5', '0.5'].entries()) {
      const pod = podOf('a', i);
      cluster.put({ ...pod, metadata: { ...pod.metadata, annotations: { [Annotations.costPerReplicaHour]: price } } });
    }
    const args = { secondsPerUnit: 100_000 };
    const scheduling = await createScheduling({
      ...{ cluster, clock: new VirtualClock(), random: seededRandom(1) },
      config: { scheduler: { pluginConfig: [{ name: 'expected-latency', args }] } },
      fetchMetrics: () => Promise.reject(new Error('no metrics')),
    });
    const names = Array.from({ length: 6 }, (_, i) => {
      const promptSpans = [Buffer.from(`prompt ${i}`)];
      const next = scheduling.attempts.next(
        { modelServer: 'default/a', upstreamModel: 'm', promptSpans, promptTokens: 3, streams: true },
        new Set(),
      );
      if (next.kind === 'none') throw new Error(next.message);
      next.attempt.settle({ kind: 'aborted' });
      return next.attempt.endpoint.pod.name;
    });
    await scheduling.close();
    expect(new Set(names)).toEqual(new Set(['a-1']));
  });
});
