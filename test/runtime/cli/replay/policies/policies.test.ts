import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dynamoCost } from '../../../../../runtime/cli/replay/policies/dynamo-cost';
import { leastConnections } from '../../../../../runtime/cli/replay/policies/least-connections';
import { llmdWeights } from '../../../../../runtime/cli/replay/policies/llmd-weights';
import { policiesNamed } from '../../../../../runtime/cli/replay/policies/policy-named';
import { prefixFirst } from '../../../../../runtime/cli/replay/policies/prefix-first';
import { roundRobin } from '../../../../../runtime/cli/replay/policies/round-robin';
import { scrapedLeastRequest } from '../../../../../runtime/cli/replay/policies/scraped-least-request';
import { sglLeastLoad } from '../../../../../runtime/cli/replay/policies/sgl-least-load';
import { sglThresholds } from '../../../../../runtime/cli/replay/policies/sgl-thresholds';
import { seededRandom } from '../../../../../runtime/lib/random';
import type { Candidate } from '../../../../../runtime/router/scheduling/candidate';
import { configuredProfile } from '../../../../../runtime/router/scheduling/configured-profile';
import type { Profile } from '../../../../../runtime/router/scheduling/profile';
import { schedule } from '../../../../../runtime/router/scheduling/scheduler';
import { candidate, scheduledRequest } from '../../../../helpers/candidates';
import { temporaryFolders } from '../../../../helpers/temporary-folder';

const fleet = { gpus: 1, kvTokens: 100_000, blockSize: 100, prefillTokensPerSecond: 10_000, costPerHour: undefined };

/** Slot of the pod that a profile picks of a pool, for a prompt of 1000 tokens. */
function picks(profile: Profile, ...pool: readonly Partial<Candidate>[]): number {
  const candidates = pool.map((changes, slot) => candidate(slot, changes));
  const outcome = schedule(profile, scheduledRequest({ promptTokens: 1000 }), candidates, seededRandom(1));
  if (outcome.kind !== 'picked') throw new Error(`filtered by ${outcome.filter}`);
  return outcome.decision.picked.endpoint.slot;
}

describe('rivals', () => {
  it('round-robin takes one after the other', () => {
    const profile = roundRobin();
    expect([0, 1, 2, 3].map(() => picks(profile, {}, {}, {}))).toEqual([0, 1, 2, 0]);
  });

  it('least-connections sees requests in flight and nothing else', () => {
    expect(picks(leastConnections(), { onFlight: 3, cachedTokens: 1000 }, { onFlight: 2, queuedTokens: 9e5 })).toBe(1);
  });

  it('scraped-least-request sees what engines said last: running + 100 × waiting', () => {
    expect(
      picks(scrapedLeastRequest(), { scraped: { running: 99 }, onFlight: 500 }, { scraped: { running: 0, waiting: 1 } }),
    ).toBe(0);
  });

  it('prefix-first takes the longest match under any load', () => {
    expect(picks(prefixFirst(), { cachedTokens: 64 }, { cachedTokens: 65, queuedTokens: 1e6, onFlight: 900 })).toBe(1);
  });

  it.each([
    ['follows a match above 0.3 of the prompt', [{ cachedTokens: 310, onFlight: 64 }, { onFlight: 0 }], 0],
    ['does not follow a shorter one', [{ cachedTokens: 300, onFlight: 5 }, { onFlight: 4 }], 1],
    [
      'takes the least loaded beyond a spread of 64 and a factor of 1.5',
      [{ cachedTokens: 1000, onFlight: 65 }, { onFlight: 0 }],
      1,
    ],
    ['stays within the factor', [{ cachedTokens: 1000, onFlight: 300 }, { onFlight: 201 }], 0],
  ] as const)('sgl-thresholds %s', (_, pool, picked) => {
    expect(picks(sglThresholds(), ...pool)).toBe(picked);
  });

  it('sgl-least-load adds queued tokens at 2000 a second and KV pressure', () => {
    expect(picks(sglLeastLoad(), { queuedTokens: 1000 }, { queuedTokens: 0, kvUsage: 0.7 })).toBe(1);
    expect(picks(sglLeastLoad(), { queuedTokens: 1000 }, { queuedTokens: 0, kvUsage: 0.8 })).toBe(0);
  });

  it('llmd-weights sums 3 × match, 2 × queue between its extremes, 2 × free KV', () => {
    const warm = { cachedTokens: 1000, scraped: { waiting: 8, kvUsage: 0 } };
    expect(picks(llmdWeights(), warm, { scraped: { waiting: 2, kvUsage: 0 } })).toBe(0);
    expect(picks(llmdWeights(), { ...warm, cachedTokens: 600 }, { scraped: { waiting: 2, kvUsage: 0 } })).toBe(1);
    expect(
      picks(llmdWeights(), { ...warm, scraped: { waiting: 2, kvUsage: 0.99 } }, { cachedTokens: 500, scraped: { waiting: 2 } }),
    ).toBe(1);
  });

  it('dynamo-cost adds blocks to prefill and blocks in use', () => {
    // 500 tokens less to prefill against 400 and against 600 more in use.
    expect(picks(dynamoCost(fleet), { cachedTokens: 500, kvUsage: 0.004 }, {})).toBe(0);
    expect(picks(dynamoCost(fleet), { cachedTokens: 500, kvUsage: 0.006 }, {})).toBe(1);
    expect(picks(dynamoCost(fleet), { cachedTokens: 500, queuedTokens: 600 }, {})).toBe(1);
  });

  it('kthena-default is Kthena’s filter and four plugins, by the router’s own', () => {
    const [policy] = policiesNamed('kthena-default');
    if (policy?.kind !== 'configured') throw new Error('is not configured');
    const { profile, findings } = configuredProfile(policy.config);
    expect(findings).toEqual([]);
    expect(profile.filters.map(({ name }) => name)).toEqual(['least-request']);
    expect(profile.scorers.map(({ scorer, weight }) => [scorer.name, weight])).toEqual([
      ['least-request', 1],
      ['gpu-usage', 1],
      ['least-latency', 1],
      ['prefix-cache', 1],
    ]);
  });
});

describe('policies by name', () => {
  const newFolder = temporaryFolders();

  it('are the router’s profiles, its rivals, and configuration files', () => {
    const file = join(newFolder(), 'mine.yaml');
    writeFileSync(file, 'scheduler: {plugins: {Score: {enabled: [{name: prefix-cache, weight: 3}]}}}');
    const policies = policiesNamed(`random, round-robin,${file}`);
    expect(policies.map(({ name, kind }) => [name, kind])).toEqual([
      ['random', 'configured'],
      ['round-robin', 'rival'],
      ['mine', 'configured'],
    ]);
    expect(policies[2]).toMatchObject({ config: { scheduler: { plugins: { Score: { enabled: [{ weight: 3 }] } } } } });
  });

  it('are all of them once for `all`', () => {
    const names = policiesNamed('all,random').map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining(['expected-latency', 'kthena-default', 'sgl-thresholds', 'llmd-weights', 'dynamo-cost']),
    );
  });

  it('say what is wrong with one that is not there, twice there, or malformed', () => {
    expect(() => policiesNamed('expected')).toThrow(
      /no policy "expected"; use all, .*expected-latency.*\[replay\/unknown-policy\]/,
    );
    expect(() => policiesNamed('nowhere.yaml')).toThrow('[config/cannot-read]');
    const [first, second] = ['a', 'b'].map(() => join(newFolder(), 'same.yaml'));
    for (const file of [first!, second!]) writeFileSync(file, 'profile: random');
    expect(() => policiesNamed(`${first},${second}`)).toThrow('[replay/policy-twice]');
    writeFileSync(first!, 'profil: random');
    expect(() => policiesNamed(first!)).toThrow(/same\.yaml: profil: is no field/);
  });
});
