import type { Candidate, ScheduledRequest } from '../../../../../runtime/router/scheduling/candidate';
import { gpuUsage } from '../../../../../runtime/router/scheduling/plugins/gpu-usage';
import { kvcacheAware } from '../../../../../runtime/router/scheduling/plugins/kvcache-aware';
import { leastLatency } from '../../../../../runtime/router/scheduling/plugins/least-latency';
import { leastRequest, leastRequestFilter } from '../../../../../runtime/router/scheduling/plugins/least-request';
import { loraAffinity } from '../../../../../runtime/router/scheduling/plugins/lora-affinity';
import { prefixCache } from '../../../../../runtime/router/scheduling/plugins/prefix-cache';
import { random } from '../../../../../runtime/router/scheduling/plugins/random';
import type { Scorer } from '../../../../../runtime/router/scheduling/scorer';
import { candidate, scheduledRequest } from '../../../../helpers/candidates';

/** Scores as Kthena counts them: higher is better. */
function scores(scorer: Scorer, pool: readonly Partial<Candidate>[], request: Partial<ScheduledRequest> = {}): number[] {
  const out = new Float64Array(pool.length);
  scorer.score(
    scheduledRequest(request),
    pool.map((changes, slot) => candidate(slot, changes)),
    out,
  );
  return [...out].map((cost) => 100 - cost);
}

describe('least-request', () => {
  it.each<[string, [onFlight: number, running: number | undefined][], number[]]>([
    [
      'all idle are equal',
      [
        [0, 0],
        [0, 0],
      ],
      [100, 100],
    ],
    [
      'bases 2 and 4, of requests that all run: the larger is 0',
      [
        [2, 2],
        [4, 4],
      ],
      [50, 0],
    ],
    [
      'a request in flight that does not run counts 100 more',
      [
        [1, 1],
        [1, 0],
      ],
      [99, 0],
    ],
    [
      'bases 3, 205 and 0',
      [
        [3, 3],
        [5, 3],
        [0, 0],
      ],
      [98, 0, 100],
    ],
    [
      'more running than in flight, sent by others, does not count',
      [
        [2, 50],
        [4, 4],
      ],
      [50, 0],
    ],
    [
      'running unknown counts as none',
      [
        [1, undefined],
        [0, undefined],
      ],
      [0, 100],
    ],
    [
      'truncated, not rounded: (3 − 1)/3',
      [
        [1, 1],
        [3, 3],
      ],
      [66, 0],
    ],
  ])('scores %s', (_name, loads, expected) => {
    const pool = loads.map(([onFlight, running]) => ({ onFlight, scraped: running === undefined ? {} : { running } }));
    expect(scores(leastRequest, pool)).toEqual(expected);
  });

  it.each([
    [9, true],
    [10, false],
    [11, false],
    [undefined, true],
  ])('filters a pod with %s waiting by "below 10": kept is %s', (waiting, isKept) => {
    const scraped = waiting === undefined ? {} : { waiting };
    expect(leastRequestFilter(10).keeps(scheduledRequest(), candidate(0, { scraped }))).toBe(isKept);
  });
});

describe('least-latency', () => {
  const measured = (timeToFirstTokenSeconds: number, interTokenLatencySeconds: number) => ({
    scraped: { timeToFirstTokenSeconds, interTokenLatencySeconds },
  });

  it.each<[string, number, Partial<Candidate>[], number[]]>([
    ['best and worst of both', 0.5, [measured(0.1, 0.01), measured(0.5, 0.05)], [100, 0]],
    ['half of each', 0.5, [measured(0.1, 0.05), measured(0.5, 0.01)], [50, 50]],
    ['weights: only TTFT', 1, [measured(0.1, 0.05), measured(0.5, 0.01)], [100, 0]],
    ['in between, truncated', 0.5, [measured(0.1, 0.01), measured(0.2, 0.02), measured(0.4, 0.04)], [100, 66, 0]],
    ['equal ones 100', 0.5, [measured(0.1, 0.01), measured(0.1, 0.01)], [100, 100]],
    [
      'one without figures 50, and it does not widen the range',
      0.5,
      [measured(0.1, 0.01), measured(0.2, 0.02), {}],
      [100, 0, 50],
    ],
    ['one that has a zero figure 50', 0.5, [measured(0.1, 0), measured(0.2, 0.02)], [50, 100]],
    ['nobody measured: all 50', 0.5, [{}, {}], [50, 50]],
  ])('scores %s', (_name, weight, pool, expected) => {
    expect(scores(leastLatency(weight), pool)).toEqual(expected);
  });
});

describe('gpu-usage', () => {
  it('scores trunc((1 − usage) · 100), unknown as empty', () => {
    const pool = [0, 0.105, 0.5, 1].map((kvUsage) => ({ scraped: { kvUsage } }));
    expect(scores(gpuUsage, [...pool, {}])).toEqual([100, 89, 50, 0, 100]);
  });
});

describe('prefix-cache', () => {
  it('scores the matched share of the prompt, truncated, for every pod that matches', () => {
    expect(
      scores(
        prefixCache,
        [1000, 999, 250, 0, 2000].map((cachedTokens) => ({ cachedTokens })),
      ),
    ).toEqual([100, 99, 25, 0, 100]);
  });
});

describe('random', () => {
  it('scores uniformly from 0 to 100, independently between pods', () => {
    const sums = [0, 0, 0];
    const wins = [0, 0, 0];
    const seen = new Set<number>();
    const rounds = 6000;
    for (let i = 0; i < rounds; i++) {
      const drawn = scores(random, [{}, {}, {}], { draw: (i + 0.5) / rounds });
      for (const [at, score] of drawn.entries()) {
        sums[at]! += score;
        seen.add(score);
      }
      wins[drawn.indexOf(Math.max(...drawn))]! += 1;
    }
    for (const sum of sums) expect(sum / rounds).toBeCloseTo(50, -0.5);
    for (const won of wins) expect(won / rounds).toBeCloseTo(1 / 3, 1);
    expect([Math.min(...seen), Math.max(...seen), seen.size]).toEqual([0, 100, 101]);
  });
});

describe('kvcache-aware', () => {
  it('scores the share of the prompt’s blocks that a pod holds from the first one on, truncated; one that lacks it 0', () => {
    const runs = new Map([1, 2, 3, 128].map((run, slot) => [`default/p${slot}#u${slot}`, run]));
    const pool = [{}, {}, {}, {}, {}];
    expect(scores(kvcacheAware, pool, { ownedBlocks: { total: 3, runs } })).toEqual([33, 66, 100, 100, 0]);
  });

  it('tells nobody apart where nothing is known', () => {
    expect(scores(kvcacheAware, [{}, {}])).toEqual([0, 0]);
  });
});

describe('lora-affinity', () => {
  it.each<[string, string | undefined, readonly string[] | undefined, boolean]>([
    ['an adapter that the pod lists', 'a', ['base', 'a'], true],
    ['an adapter that it does not list', 'a', ['base', 'b'], false],
    ['an adapter, and the pod did not say', 'a', undefined, true],
    // Kthena looks for the client's name of a base model, which engines need not know.
    ['the base model', undefined, ['base'], true],
  ])('for %s', (_name, adapter, models, isKept) => {
    const known = models === undefined ? {} : { models: new Set(models) };
    expect(loraAffinity.keeps(scheduledRequest({ adapter }), candidate(0, known))).toBe(isKept);
  });
});
