import type { ModelRoute } from '../../../src/api/model-route';
import { checkObjects } from '../../../src/checks';
import { sharedLimits } from '../../../src/checks/unlike-limits';
import { findingLine } from '../../../src/errors';
import { modelRouteOf } from '../../helpers/router-cluster';

type RateLimit = NonNullable<ModelRoute['spec']['rateLimit']>;

const inRedis = (limits: Partial<RateLimit>, address = 'redis:6379'): RateLimit => ({
  unit: 'minute',
  ...limits,
  global: { redis: { address } },
});
const old = (rateLimit: RateLimit, modelName = 'm') => modelRouteOf('old', { modelName, rateLimit }, '2025-01-01T00:00:00Z');
const young = (rateLimit: RateLimit, modelName = 'm') => modelRouteOf('young', { modelName, rateLimit }, '2026-01-01T00:00:00Z');
const found = (...routes: readonly ModelRoute[]) =>
  checkObjects(routes.map((object) => ({ object }))).filter(({ code }) => code === 'routing/unlike-limits');

describe('limits of routes of one model in Redis', () => {
  it('that differ are an error of the younger route', () => {
    const findings = found(
      young(inRedis({ inputTokensPerUnit: 5 })),
      old(inRedis({ inputTokensPerUnit: 7, requestsPerUnit: 2 })),
    );
    expect(findings.map(findingLine)).toEqual([
      'ModelRoute default/young: spec.rateLimit: 5 input tokens per minute are counted in Redis redis:6379 under the name "m", where those of ModelRoute default/old count (7 input tokens, 2 requests per minute); give both routes the same limits, or let each router count for itself [routing/unlike-limits]',
    ]);
    expect(findings[0]!.severity).toBe('error');
  });

  it('that differ in their unit only, differ', () => {
    expect(found(old(inRedis({ inputTokensPerUnit: 5 })), young(inRedis({ inputTokensPerUnit: 5, unit: 'hour' })))).toHaveLength(
      1,
    );
  });

  it.each<readonly [string, ModelRoute, ModelRoute]>([
    ['are the same', old(inRedis({ inputTokensPerUnit: 5 })), young(inRedis({ inputTokensPerUnit: 5 }))],
    ['are of two models', old(inRedis({ inputTokensPerUnit: 5 })), young(inRedis({ inputTokensPerUnit: 7 }), 'n')],
    ['are in two servers', old(inRedis({ inputTokensPerUnit: 5 })), young(inRedis({ inputTokensPerUnit: 7 }, 'other:6379'))],
    [
      'are counted by each router for itself',
      old({ unit: 'day', inputTokensPerUnit: 5 }),
      young({ unit: 'day', inputTokensPerUnit: 7 }),
    ],
    [
      'are of routes that serve adapters alone',
      modelRouteOf('a', { loraAdapters: ['x'], rateLimit: inRedis({ inputTokensPerUnit: 5 }) }),
      modelRouteOf('b', { loraAdapters: ['y'], rateLimit: inRedis({ inputTokensPerUnit: 7 }) }),
    ],
  ])('are fine when they %s', (_, a, b) => {
    expect(found(a, b)).toEqual([]);
  });

  it('are those of the oldest route, whatever the order of the objects', () => {
    const [elder, younger] = [old(inRedis({ inputTokensPerUnit: 5 })), young(inRedis({ inputTokensPerUnit: 7 }))];
    for (const routes of [
      [elder, younger],
      [younger, elder],
    ]) {
      expect(sharedLimits(routes).map(({ rateLimit }) => rateLimit.inputTokensPerUnit)).toEqual([5, 5]);
    }
  });
});
