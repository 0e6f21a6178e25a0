import { join } from 'node:path';
import { policiesNamed } from '../../../../runtime/cli/replay/policies/policy-named';
import type { PolicyResult } from '../../../../runtime/cli/replay/policy-result';
import { replayPolicies } from '../../../../runtime/cli/replay/replay-policies';
import { readTrace } from '../../../../runtime/cli/replay/workload/read-trace';
import { sharedPrefixWorkload } from '../../../../runtime/cli/replay/workload/shared-prefix';
import { traceWorkload } from '../../../../runtime/cli/replay/workload/trace-workload';
import { seededRandom } from '../../../../runtime/lib/random';
import { KTHENA_FLEET, MOONCAKE_FLEET } from '../../../helpers/replay-fleets';

/** Parts of what `test/bench/replay.bench.ts` replays in full. */
describe('over public workloads', () => {
  const byName = (results: readonly PolicyResult[]) => new Map(results.map((result) => [result.name, result]));

  it('expected-latency answers sooner than its rivals on the synthetic Mooncake trace, and is as fast to the end', async () => {
    const requests = readTrace(join(__dirname, '../../../fixtures/traces/mooncake-synthetic.jsonl.gz'));
    const policies = policiesNamed('expected-latency,random,least-connections,kthena-default,dynamo-cost');
    const workload = traceWorkload(requests, { limit: 250, jitter: seededRandom(1) });
    const results = await replayPolicies({ policies, workload, fleet: MOONCAKE_FLEET, seed: 1 });
    const [own, ...rivals] = results;
    expect(own).toMatchObject({ name: 'expected-latency', requests: 250, errors: 0 });
    for (const rival of rivals) {
      const most = rival.name === 'dynamo-cost' ? 1.01 : 0.9;
      expect({ rival: rival.name, ratio: own!.ttftMs.mean / rival.ttftMs.mean < most }).toEqual({
        rival: rival.name,
        ratio: true,
      });
    }
    expect(own!.e2eMs.mean).toBeLessThan(1.05 * Math.min(...rivals.map(({ e2eMs }) => e2eMs.mean)));
  });

  it('expected-latency has twice the throughput of random where a third of the shared prompts fits into a cache', async () => {
    const shape = { groups: 64, promptsPerGroup: 32, systemTokens: 4096, questionTokens: 256, outputTokens: 128 };
    const fleet = { ...KTHENA_FLEET, kvTokens: KTHENA_FLEET.kvTokens / 4 };
    const workload = sharedPrefixWorkload(shape, { random: seededRandom(1), concurrency: 75, requestsPerSecond: 800 });
    const results = byName(
      await replayPolicies({ policies: policiesNamed('expected-latency,random'), workload, fleet, seed: 1 }),
    );
    const [own, random] = [results.get('expected-latency')!, results.get('random')!];
    expect(own.requestsPerSecond).toBeGreaterThan(2 * random.requestsPerSecond);
    expect(own.ttftMs.mean).toBeLessThan(0.5 * random.ttftMs.mean);
  });
});
