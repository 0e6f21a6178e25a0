import fc from 'fast-check';
import { seededRandom } from '../../../../runtime/lib/random';
import { explainMatch, explainTargets } from '../../../../runtime/router/routing/explain-match';
import { RouteTable } from '../../../../runtime/router/routing/route-table';
import type { ModelRoute, Rule } from '../../../../src/api/model-route';
import { modelRouteOf, modelServerOf } from '../../../helpers/router-cluster';

const target = fc.record({ modelServerName: fc.constantFrom('a', 'b', 'gone'), weight: fc.constantFrom(0, 1, 50, 100) });
const match = fc.constantFrom<Rule['modelMatch'] | undefined>(
  undefined,
  { headers: { 'x-user': { exact: 'alice' } } },
  { headers: { 'x-user': { prefix: 'a' } }, uri: { prefix: '/v1/chat' } },
  { uri: { regex: 'completions$' } },
  { uri: { regex: '(' } },
  { body: { model: 'm' } },
);
const rule: fc.Arbitrary<Rule> = fc
  .tuple(match, fc.array(target, { minLength: 1, maxLength: 3 }))
  .map(([modelMatch, targetModels]) => ({ ...(modelMatch && { modelMatch }), targetModels }));
const route: fc.Arbitrary<ModelRoute> = fc
  .tuple(fc.nat(99), fc.array(rule, { minLength: 1, maxLength: 3 }), fc.constantFrom('m', 'other', undefined), fc.boolean())
  .map(([age, rules, modelName, isForGateways]) =>
    modelRouteOf(
      `route-${age}`,
      {
        rules,
        ...(modelName === undefined ? { loraAdapters: ['m', 'adapter'] } : { modelName }),
        ...(isForGateways && { parentRefs: [{ name: 'gateway', group: 'g', kind: 'Gateway' }] }),
      },
      `2026-01-01T00:00:${String(age % 60).padStart(2, '0')}Z`,
    ),
  );
const input = fc.record({
  model: fc.constantFrom('m', 'adapter', 'nobody'),
  path: fc.constantFrom('/v1/chat/completions', '/v1/completions', '/v1/embeddings'),
  headers: fc.constantFrom<Record<string, string>>({}, { 'x-user': 'alice' }, { 'x-user': 'bob' }),
});

describe('an explanation of a match', () => {
  const tableOf = (routes: readonly ModelRoute[]): RouteTable =>
    new RouteTable({ routes, modelServers: [modelServerOf('a'), modelServerOf('b')], providers: [] });

  it('names the route and rule that the router takes, or its very refusal, for any routes and requests', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(route, { selector: ({ metadata }) => metadata.name, maxLength: 4 }),
        input,
        fc.nat(),
        (routes, request, seed) => {
          const table = tableOf(routes);
          const taken = table.match({ ...request, method: 'POST', random: seededRandom(seed) });
          const { outcome, isAdapter, routes: asked } = explainMatch(table, request, 'POST');
          expect(outcome.kind).toBe(taken.kind);
          expect(asked.filter(({ verdict }) => verdict === 'taken').length).toBeLessThan(2);
          if (taken.kind === 'unmatched' || outcome.kind === 'unmatched') {
            expect(outcome).toMatchObject({ reason: (taken as { reason: string }).reason });
            return;
          }
          expect([outcome.route, outcome.rule.rule, isAdapter]).toEqual([taken.route, taken.rule, taken.isAdapter]);
          expect(outcome.rule.conditions.every(({ holds }) => holds)).toBe(true);
          const drawn = outcome.targets.find((each) => each.target === taken.drawn)!;
          expect([drawn.isThere, drawn.share > 0]).toEqual([true, true]);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('gives each target the share that draws come to, and what a missing one would get to the others', () => {
    const shared = modelRouteOf('shared', {
      modelName: 'm',
      rules: [
        {
          targetModels: [
            { modelServerName: 'a', weight: 60 },
            { modelServerName: 'b', weight: 20 },
            { modelServerName: 'gone', weight: 100 },
            { modelServerName: 'a', weight: 0 },
          ],
        },
      ],
    });
    const table = tableOf([shared]);
    const shares = explainTargets(table, shared, shared.spec.rules[0]!);
    expect(shares.map(({ share, isThere }) => [share, isThere])).toEqual([
      [0.75, true],
      [0.25, true],
      [0, false],
      [0, true],
    ]);
    const random = seededRandom(1);
    let toA = 0;
    for (let i = 0; i < 20_000; i++) {
      const drawn = table.match({ model: 'm', path: '/', headers: {}, method: 'POST', random });
      if (drawn.kind === 'matched' && drawn.drawn.modelServerName === 'a') toA += 1;
    }
    expect(toA / 20_000).toBeCloseTo(0.75, 1);
  });

  it('says of each condition what was wanted and what the request has', () => {
    const picky = modelRouteOf('picky', {
      modelName: 'm',
      rules: [{ modelMatch: { headers: { 'X-User': { exact: 'alice' } } }, targetModels: [{ modelServerName: 'a', weight: 1 }] }],
    });
    const { routes, outcome } = explainMatch(tableOf([picky]), { model: 'm', path: '/', headers: { 'x-user': 'bob' } }, 'POST');
    expect(outcome).toMatchObject({ kind: 'unmatched', reason: 'no-rule' });
    expect(routes[0]).toMatchObject({
      verdict: 'no-rule',
      rules: [
        { verdict: 'fails', conditions: [{ field: 'headers[X-User]', wanted: { exact: 'alice' }, value: 'bob', holds: false }] },
      ],
    });
  });
});
