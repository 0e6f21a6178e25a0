import { type CompareOptions, comparePolicies } from '../../../../runtime/cli/compare/compare-policies';
import { summarize } from '../../../../runtime/cli/compare/latency-summary';
import { KvasirError } from '../../../../src/errors';

const OPTIONS: CompareOptions = {
  policies: ['expected-latency', 'random', 'least-request'],
  seed: 7,
  workload: { seed: 1, conversations: 60, durationMs: 120_000 },
  fleet: { replicas: 4, model: 'Qwen/Qwen3-8B', accelerator: 'L4-24GB' },
};
const small: CompareOptions = { ...OPTIONS, workload: { ...OPTIONS.workload, conversations: 8 } };

describe('the comparison of scheduling policies', () => {
  it('serves every request under each policy, and expected-latency finds more in caches and answers sooner', async () => {
    const [expected, random, least] = await comparePolicies(OPTIONS);
    for (const result of [expected!, random!, least!]) {
      expect(result.errors).toBe(0);
      expect(result.requests).toBe(expected!.requests);
      expect(result.requests).toBeGreaterThan(400);
      expect(result.balance).toBeGreaterThanOrEqual(1);
      expect(result.tokensPerSecond).toBeGreaterThan(0);
    }
    for (const other of [random!, least!]) {
      expect(expected!.hitRatio).toBeGreaterThan(other.hitRatio + 0.1);
      expect(expected!.ttftMs.p90).toBeLessThan(other.ttftMs.p90 / 2);
      expect(expected!.ttftMs.mean).toBeLessThan(other.ttftMs.mean);
    }
    expect(expected!.balance).toBeLessThan(1.3);
  });

  it('is the same for the same seeds, and another for another', async () => {
    const first = await comparePolicies(small);
    expect(await comparePolicies(small)).toEqual(first);
    const other = await comparePolicies({ ...small, seed: 8 });
    expect(other.find(({ name }) => name === 'random')).not.toEqual(first.find(({ name }) => name === 'random'));
  });

  it('holds where KV caches are far too small for all conversations', async () => {
    const workload = { ...OPTIONS.workload, conversations: 40 };
    const tight = {
      ...OPTIONS,
      workload,
      policies: ['expected-latency', 'random'],
      fleet: { ...OPTIONS.fleet, kvTokens: 12_000 },
    };
    const [expected, random] = await comparePolicies(tight);
    expect(expected!.errors).toBe(0);
    expect(expected!.hitRatio).toBeGreaterThan(random!.hitRatio);
    expect(expected!.ttftMs.p90).toBeLessThan(random!.ttftMs.p90);
  });

  it('names an accelerator that the catalogue lacks', async () => {
    const wrong = { ...small, fleet: { ...small.fleet, accelerator: 'L5' } };
    await expect(comparePolicies(wrong)).rejects.toThrow(KvasirError);
    await expect(comparePolicies(wrong)).rejects.toThrow('"L5"');
  });
});

describe('a latency summary', () => {
  it.each([
    ['one sample', [5], { mean: 5, p50: 5, p90: 5, p99: 5 }],
    ['four', [4, 1, 3, 2], { mean: 2.5, p50: 2, p90: 4, p99: 4 }],
    ['a hundred', Array.from({ length: 100 }, (_, i) => 100 - i), { mean: 50.5, p50: 50, p90: 90, p99: 99 }],
    ['none', [], { mean: Number.NaN, p50: Number.NaN, p90: Number.NaN, p99: Number.NaN }],
  ])('of %s is the mean and nearest ranks', (_name, samples, expected) => {
    expect(summarize(samples)).toEqual(expected);
  });
});
