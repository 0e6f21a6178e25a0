import { summarize } from '../../../../runtime/cli/replay/latency-summary';
import { POLICIES, policiesNamed } from '../../../../runtime/cli/replay/policies/policy-named';
import { type ReplayOptions, replayPolicies } from '../../../../runtime/cli/replay/replay-policies';
import { replayedChat } from '../../../../runtime/cli/replay/workload/replayed-chat';
import { sharedPrefixWorkload } from '../../../../runtime/cli/replay/workload/shared-prefix';
import { chatWorkload } from '../../../../runtime/cli/workload/chat-workload';
import { seededRandom } from '../../../../runtime/lib/random';
import { KvasirError } from '../../../../src/errors';

const MODEL = 'Qwen/Qwen3-8B';
const chat = (conversations: number, durationMs = 2000 * conversations) =>
  replayedChat(chatWorkload({ seed: 1, conversations, durationMs }), MODEL);
const OPTIONS: ReplayOptions = {
  policies: policiesNamed('expected-latency,random,least-request'),
  seed: 7,
  workload: chat(40),
  fleet: { replicas: 4, model: MODEL, accelerator: 'L4-24GB' },
};
const small: ReplayOptions = { ...OPTIONS, workload: chat(4) };

describe('a replay', () => {
  it('serves every request under each policy, and expected-latency finds more in caches and answers sooner', async () => {
    const [expected, random, least] = await replayPolicies(OPTIONS);
    for (const result of [expected!, random!, least!]) {
      expect(result.errors).toBe(0);
      expect(result.requests).toBe(expected!.requests);
      expect(result.requests).toBeGreaterThan(250);
      expect(result.balance).toBeGreaterThanOrEqual(1);
      expect(result.tokensPerSecond).toBeGreaterThan(0);
      expect(result.load).toBeGreaterThan(0.1);
      expect(result.load).toBeLessThanOrEqual(1);
      expect(result.cost).toBeGreaterThan(0);
    }
    for (const other of [random!, least!]) {
      expect(expected!.hitRatio).toBeGreaterThan(other.hitRatio + 0.1);
      expect(expected!.ttftMs.p90).toBeLessThan(other.ttftMs.p90 / 2);
      expect(expected!.ttftMs.mean).toBeLessThan(other.ttftMs.mean);
    }
    expect(expected!.balance).toBeLessThan(1.3);
  });

  it('is the same to the byte for the same seeds, and another for another', async () => {
    const first = JSON.stringify(await replayPolicies(small));
    expect(JSON.stringify(await replayPolicies(small))).toBe(first);
    const other = await replayPolicies({ ...small, seed: 8 });
    const random = JSON.stringify(other.find(({ name }) => name === 'random'));
    expect(first).not.toContain(random);
  });

  it('holds where KV caches are far too small for all conversations', async () => {
    const [expected, random] = await replayPolicies({
      ...OPTIONS,
      workload: chat(25),
      policies: policiesNamed('expected-latency,random'),
      fleet: { ...OPTIONS.fleet, kvTokens: 12_000 },
    });
    expect(expected!.errors).toBe(0);
    expect(expected!.hitRatio).toBeGreaterThan(random!.hitRatio);
    expect(expected!.ttftMs.p90).toBeLessThan(random!.ttftMs.p90);
  });

  it('runs every policy that has a name', async () => {
    const results = await replayPolicies({ ...small, policies: POLICIES });
    expect(results.map(({ name }) => name)).toEqual(POLICIES.map(({ name }) => name));
    for (const { requests, errors, ttftMs } of results) {
      expect(requests).toBe(results[0]!.requests);
      expect(errors).toBe(0);
      expect(ttftMs.mean).toBeGreaterThan(0);
    }
    // All look at the same workload and decide in their own way.
    expect(new Set(results.map(({ e2eMs }) => e2eMs.mean)).size).toBeGreaterThan(POLICIES.length / 2);
  });

  it('loses hits when several routers know nothing of each other', async () => {
    const options = { ...OPTIONS, workload: chat(20), policies: policiesNamed('expected-latency') };
    const [one] = await replayPolicies(options);
    const [four] = await replayPolicies({ ...options, routers: 4 });
    expect(four!.requests).toBe(one!.requests);
    expect(four!.hitRatio).toBeLessThan(one!.hitRatio);
  });

  it('wins them back when routers tell each other, and is the same to the byte then too', async () => {
    const options = { ...OPTIONS, workload: chat(20), policies: policiesNamed('expected-latency') };
    const four = { ...options, routers: 4, replicationDelayMs: 5 };
    const [one] = await replayPolicies(options);
    const [apart] = await replayPolicies({ ...options, routers: 4 });
    const [together] = await replayPolicies(four);
    expect(together!.hitRatio).toBeGreaterThan((one!.hitRatio + apart!.hitRatio) / 2);
    expect(together!.ttftMs.mean).toBeLessThan(1.15 * one!.ttftMs.mean);
    expect(JSON.stringify(await replayPolicies(four))).toBe(JSON.stringify([together]));
  });

  it('never has more in flight than the bound, and counts time from sending', async () => {
    const shape = { groups: 4, promptsPerGroup: 8, systemTokens: 512, questionTokens: 64, outputTokens: 16 };
    const fleet = { ...OPTIONS.fleet, replicas: 1 };
    const replayed = async (concurrency?: number) => {
      const bound = concurrency === undefined ? {} : { concurrency };
      const workload = sharedPrefixWorkload(shape, { random: seededRandom(1), ...bound });
      const [result] = await replayPolicies({ ...OPTIONS, policies: policiesNamed('random'), workload, fleet });
      return result!;
    };
    const [single, all] = [await replayed(1), await replayed()];
    expect(single.requests).toBe(32);
    // One after the other: throughput is the inverse of latency.
    expect(single.requestsPerSecond * single.e2eMs.mean).toBeCloseTo(1000, 0);
    expect(all.ttftMs.p90).toBeGreaterThan(5 * single.ttftMs.p90);
  });

  it('counts a request that is longer than the context as an error, and goes on', async () => {
    const shape = { groups: 1, promptsPerGroup: 3, systemTokens: 0, questionTokens: 50_000, outputTokens: 1 };
    const workload = sharedPrefixWorkload(shape, { random: seededRandom(1), concurrency: 1 });
    const [result] = await replayPolicies({ ...OPTIONS, policies: policiesNamed('expected-latency'), workload });
    expect(result).toMatchObject({ requests: 3, errors: 3, hitRatio: 0, sloMissRatio: 1 });
  });

  it('names an accelerator that the catalogue lacks, and a model that leaves no room', async () => {
    const wrong = { ...small, fleet: { ...small.fleet, accelerator: 'L5' } };
    await expect(replayPolicies(wrong)).rejects.toThrow(KvasirError);
    await expect(replayPolicies(wrong)).rejects.toThrow('"L5"');
    const tight = { ...small, fleet: { ...small.fleet, model: 'meta-llama/Llama-3.3-70B-Instruct', gpus: 1 } };
    await expect(replayPolicies(tight)).rejects.toThrow('[replay/no-kv-cache]');
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
