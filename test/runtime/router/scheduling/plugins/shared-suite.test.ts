import fc from 'fast-check';
import type { Candidate, ScheduledRequest } from '../../../../../runtime/router/scheduling/candidate';
import type { Filter } from '../../../../../runtime/router/scheduling/filter';
import { adapterLoad } from '../../../../../runtime/router/scheduling/plugins/adapter-load';
import { decodeTime } from '../../../../../runtime/router/scheduling/plugins/decode-time';
import { gpuUsage } from '../../../../../runtime/router/scheduling/plugins/gpu-usage';
import { kvPressure } from '../../../../../runtime/router/scheduling/plugins/kv-pressure';
import { kvcacheAware } from '../../../../../runtime/router/scheduling/plugins/kvcache-aware';
import { lateTokens } from '../../../../../runtime/router/scheduling/plugins/late-tokens';
import { leastLatency } from '../../../../../runtime/router/scheduling/plugins/least-latency';
import { leastRequest, leastRequestFilter } from '../../../../../runtime/router/scheduling/plugins/least-request';
import { loraAffinity } from '../../../../../runtime/router/scheduling/plugins/lora-affinity';
import { prefillTime } from '../../../../../runtime/router/scheduling/plugins/prefill-time';
import { prefixCache } from '../../../../../runtime/router/scheduling/plugins/prefix-cache';
import { random } from '../../../../../runtime/router/scheduling/plugins/random';
import { slotWait } from '../../../../../runtime/router/scheduling/plugins/slot-wait';
import type { Scorer } from '../../../../../runtime/router/scheduling/scorer';
import { anyPool, anyRequest } from '../../../../helpers/candidates';

const seconds: readonly Scorer[] = [adapterLoad, prefillTime, decodeTime, kvPressure, slotWait, lateTokens(60)];
const kthena: readonly Scorer[] = [leastRequest, leastLatency(0.5), leastLatency(0), gpuUsage, prefixCache, kvcacheAware, random];
const filters: readonly Filter[] = [leastRequestFilter(10), loraAffinity];

/** A pool, and another order of it. */
const shuffled = anyPool.chain((pool) => {
  const order = [...pool.keys()];
  return fc.record({ pool: fc.constant(pool), order: fc.shuffledSubarray(order, { minLength: order.length }) });
});

/** Scores into an array that held something else before. */
function score(scorer: Scorer, request: ScheduledRequest, pool: readonly Candidate[]): number[] {
  const out = new Float64Array(pool.length).fill(Number.NaN);
  scorer.score(request, pool, out);
  return [...out];
}

describe.each([...seconds, ...kthena].map((scorer) => [scorer.name, scorer] as const))('the scorer %s', (_name, scorer) => {
  it('gives every candidate a finite cost of at least 0', () => {
    fc.assert(
      fc.property(anyRequest, anyPool, (request, pool) => {
        expect(score(scorer, request, pool).every((cost) => Number.isFinite(cost) && cost >= 0)).toBe(true);
      }),
    );
  });

  it('is pure: the same inputs give the same costs, and frozen inputs are left alone', () => {
    fc.assert(
      fc.property(anyRequest, anyPool, (request, pool) => {
        const frozen = pool.map((each) =>
          Object.freeze({ ...each, scraped: Object.freeze(each.scraped), decode: Object.freeze(each.decode) }),
        );
        expect(score(scorer, Object.freeze(request), frozen)).toEqual(score(scorer, request, pool));
      }),
    );
  });

  it('does not depend on the order of candidates', () => {
    fc.assert(
      fc.property(anyRequest, shuffled, (request, { pool, order }) => {
        const costs = score(scorer, request, pool);
        const reordered = order.map((i) => pool[i]!);
        expect(score(scorer, request, reordered)).toEqual(order.map((i) => costs[i]));
      }),
    );
  });
});

describe.each(kthena.map((scorer) => [scorer.name, scorer] as const))("Kthena's scorer %s", (_name, scorer) => {
  it('gives whole scores from 0 to 100', () => {
    fc.assert(
      fc.property(anyRequest, anyPool, (request, pool) => {
        expect(score(scorer, request, pool).every((cost) => Number.isInteger(cost) && cost <= 100)).toBe(true);
      }),
    );
  });
});

describe.each(filters.map((filter) => [filter.name, filter] as const))('the filter %s', (_name, filter) => {
  it('is pure, and keeps a candidate of which nothing is known', () => {
    fc.assert(
      fc.property(anyRequest, anyPool, (request, pool) => {
        expect(pool.map((each) => filter.keeps(request, each))).toEqual(pool.map((each) => filter.keeps(request, each)));
        expect(pool.every((each) => filter.keeps(request, { ...each, scraped: {}, models: undefined }))).toBe(true);
      }),
    );
  });
});
