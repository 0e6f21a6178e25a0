import { seededRandom } from '../../../../runtime/lib/random';
import { type RouteMatch, type RouteQuery, RouteTable } from '../../../../runtime/router/routing/route-table';
import type { ExternalModelProvider } from '../../../../src/api/external-model-provider';
import type { ModelRoute } from '../../../../src/api/model-route';
import { modelRouteOf, modelServerOf } from '../../../helpers/router-cluster';

const EARLY = '2026-01-01T00:00:00Z';
const LATE = '2026-01-01T00:00:02Z';
const servers = ['a', 'b'].map((name) => modelServerOf(name));
const cloud: ExternalModelProvider = {
  apiVersion: 'networking.serving.volcano.sh/v1alpha1',
  kind: 'ExternalModelProvider',
  metadata: { name: 'cloud', namespace: 'default' },
  spec: { providerType: 'OpenAI', baseURL: 'https://cloud.example', insecureSkipVerify: false },
};

function tableOf(...routes: readonly ModelRoute[]): RouteTable {
  return new RouteTable({ routes, modelServers: servers, providers: [cloud] });
}

function query(model: string, changes: Partial<RouteQuery> = {}): RouteQuery {
  return { path: '/v1/chat/completions', method: 'POST', headers: {}, model, random: seededRandom(1), ...changes };
}

/** Name of the target, or the reason why there is none. */
function outcome(match: RouteMatch): string {
  if (match.kind === 'unmatched') return match.reason;
  return match.target.kind === 'provider' ? match.target.provider.metadata.name : match.target.modelServer.metadata.name;
}

const to = (modelServerName: string, weight = 100) => [{ modelServerName, weight }];

describe('a route is found', () => {
  it('by its exact, case-sensitive model name', () => {
    const table = tableOf(modelRouteOf('r', { modelName: 'Chat', to: 'a' }));
    expect(outcome(table.match(query('Chat')))).toBe('a');
    expect(outcome(table.match(query('chat')))).toBe('unknown-model');
  });

  it('oldest first, and by namespace and name among equals, whatever the order of arrival', () => {
    const old = modelRouteOf('z', { modelName: 'm', to: 'a' }, EARLY);
    const young = modelRouteOf('y', { modelName: 'm', to: 'b' }, LATE);
    const twin = modelRouteOf('x', { modelName: 'm', to: 'b' }, LATE);
    for (const order of [
      [old, young],
      [young, old],
    ]) {
      expect(outcome(tableOf(...order).match(query('m')))).toBe('a');
    }
    for (const order of [
      [twin, young],
      [young, twin],
    ]) {
      expect(tableOf(...order).match(query('m'))).toMatchObject({ route: { metadata: { name: 'x' } } });
    }
  });

  it('as an adapter only when no route names the model as its base', () => {
    const adapters = modelRouteOf('lora', { modelName: 'base', loraAdapters: ['x', 'y'], to: 'a' }, EARLY);
    expect(tableOf(adapters).match(query('x'))).toMatchObject({ kind: 'matched', isAdapter: true });
    expect(tableOf(adapters).match(query('base'))).toMatchObject({ kind: 'matched', isAdapter: false });
    const base = modelRouteOf('base', { modelName: 'x', to: 'b' }, LATE);
    const match = tableOf(adapters, base).match(query('x'));
    expect(match).toMatchObject({ isAdapter: false });
    expect(outcome(match)).toBe('b');
  });

  it('in the next candidate when no rule of the oldest matches', () => {
    const premium = modelRouteOf(
      'premium',
      { modelName: 'm', rules: [{ modelMatch: { headers: { 'user-type': { exact: 'premium' } } }, targetModels: to('a') }] },
      EARLY,
    );
    const rest = modelRouteOf('rest', { modelName: 'm', to: 'b' }, LATE);
    expect(outcome(tableOf(premium, rest).match(query('m')))).toBe('b');
    expect(outcome(tableOf(premium).match(query('m')))).toBe('no-rule');
  });
});

describe('a rule matches', () => {
  const rule = (modelMatch: ModelRoute['spec']['rules'][number]['modelMatch']) =>
    tableOf(
      modelRouteOf('r', { modelName: 'm', rules: [{ modelMatch, targetModels: to('a') }, { targetModels: to('b') }] } as never),
    );

  it.each<[string, ModelRoute['spec']['rules'][number]['modelMatch'], Partial<RouteQuery>, 'a' | 'b']>([
    ['without conditions everything', undefined, {}, 'a'],
    ['an exact header', { headers: { 'User-Type': { exact: 'premium' } } }, { headers: { 'user-type': 'premium' } }, 'a'],
    ['not another value', { headers: { 'User-Type': { exact: 'premium' } } }, { headers: { 'user-type': 'basic' } }, 'b'],
    ['not an absent header', { headers: { 'User-Type': { exact: 'premium' } } }, {}, 'b'],
    ['an absent header as the empty value', { headers: { x: { exact: '' } } }, {}, 'a'],
    ['the first of several values', { headers: { x: { exact: '1' } } }, { headers: { x: ['1', '2'] } }, 'a'],
    ['a header by prefix', { headers: { x: { prefix: 'ab' } } }, { headers: { x: 'abc' } }, 'a'],
    ['a header by regex anywhere in it', { headers: { x: { regex: 'b+' } } }, { headers: { x: 'abbc' } }, 'a'],
    ['an empty condition everything', { headers: { x: {} } }, {}, 'a'],
    [
      'exact before prefix before regex',
      { headers: { x: { exact: 'e', prefix: 'p', regex: 'r' } } },
      { headers: { x: 'pr' } },
      'b',
    ],
    ['all headers, not one of them', { headers: { x: { exact: '1' }, y: { exact: '2' } } }, { headers: { x: '1' } }, 'b'],
    ['the path by prefix', { uri: { prefix: '/v1/chat' } }, {}, 'a'],
    ['the path by anchored regex', { uri: { regex: '^/v1/completions$' } }, {}, 'b'],
    ['the model in the body', { body: { model: 'm' } }, {}, 'a'],
    ['not another model in the body', { body: { model: 'n' } }, {}, 'b'],
    ['a null header condition everything', { headers: { x: null } } as never, {}, 'a'],
  ])('%s', (_name, modelMatch, changes, expected) => {
    expect(outcome(rule(modelMatch).match(query('m', changes)))).toBe(expected);
  });

  it('first in order, of several', () => {
    expect(rule(undefined).match(query('m'))).toMatchObject({ rule: { targetModels: to('a') } });
  });

  it('nothing when its regex does not compile, which is a finding that names the field', () => {
    const table = rule({ headers: { x: { regex: '(' } } });
    expect(outcome(table.match(query('m', { headers: { x: '(' } })))).toBe('b');
    expect(table.findings()).toEqual([
      expect.objectContaining({
        code: 'routing/invalid-regex',
        object: 'ModelRoute default/r',
        field: 'spec.rules[0].modelMatch.headers[x].regex',
      }),
    ]);
  });

  it('a pattern in linear time that takes others exponential time', () => {
    const table = rule({ headers: { x: { regex: '^(a+)+$' } } });
    const started = performance.now();
    expect(outcome(table.match(query('m', { headers: { x: `${'a'.repeat(5000)}!` } })))).toBe('b');
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

describe('a target', () => {
  it('that does not exist is named', () => {
    const table = tableOf(
      modelRouteOf('r', { modelName: 'm', to: 'gone' }),
      modelRouteOf('p', { modelName: 'n', rules: [{ targetModels: [{ externalModelProviderName: 'gone', weight: 100 }] }] }),
    );
    expect(table.match(query('m'))).toMatchObject({
      reason: 'missing-model-server',
      message: "can't find model server: default/gone",
    });
    expect(table.match(query('n'))).toMatchObject({
      reason: 'missing-provider',
      message: "can't find external model provider: default/gone",
    });
  });

  it('is looked up in the namespace of its route', () => {
    const route = modelRouteOf('r', { modelName: 'm', to: 'a' });
    const elsewhere = { ...route, metadata: { ...route.metadata, namespace: 'other' } };
    expect(outcome(tableOf(elsewhere).match(query('m')))).toBe('missing-model-server');
  });

  it('may be a provider', () => {
    const table = tableOf(
      modelRouteOf('r', { modelName: 'm', rules: [{ targetModels: [{ externalModelProviderName: 'cloud', weight: 1 }] }] }),
    );
    expect(outcome(table.match(query('m')))).toBe('cloud');
  });

  it.each<[string, readonly [number | undefined, number | undefined], number]>([
    ['70 to 30', [70, 30], 0.7],
    ['50 to 30, which need not sum to 100', [50, 30], 0.625],
    ['no weights', [undefined, undefined], 0.5],
    ['a set and an absent weight, which counts as the default 100', [50, undefined], 1 / 3],
    ['a weight of 0, which is never drawn', [0, 10], 0],
  ])('is drawn with %s', (_name, [first, second], share) => {
    const targets = [
      { modelServerName: 'a', weight: first },
      { modelServerName: 'b', weight: second },
    ] as ModelRoute['spec']['rules'][number]['targetModels'];
    const table = tableOf(modelRouteOf('r', { modelName: 'm', rules: [{ targetModels: targets }] }));
    const random = seededRandom(7);
    const draws = Array.from({ length: 4000 }, () => outcome(table.match(query('m', { random }))));
    expect(draws.filter((name) => name === 'a').length / draws.length).toBeCloseTo(share, share === 0 ? 9 : 1);
  });

  it('is not drawn where all weights are 0; the next route is tried', () => {
    const zero = modelRouteOf('zero', { modelName: 'm', rules: [{ targetModels: to('a', 0) }] }, EARLY);
    expect(outcome(tableOf(zero).match(query('m')))).toBe('no-weight');
    expect(outcome(tableOf(zero, modelRouteOf('next', { modelName: 'm', to: 'b' }, LATE)).match(query('m')))).toBe('b');
  });
});

describe('the table', () => {
  const bound = modelRouteOf(
    'bound',
    { modelName: 'm', to: 'a', parentRefs: [{ group: 'g', kind: 'Gateway', name: 'x' }] },
    EARLY,
  );

  it('does not serve routes that are bound to Gateways on the own listener', () => {
    expect(outcome(tableOf(bound).match(query('m')))).toBe('gateway-only');
    expect(outcome(tableOf(bound, modelRouteOf('free', { modelName: 'm', to: 'b' }, LATE)).match(query('m')))).toBe('b');
  });

  it('lists base models and adapters with their parent, sorted, each once', () => {
    const table = tableOf(
      modelRouteOf('one', { modelName: 'm', loraAdapters: ['x', 'b'], to: 'a' }),
      modelRouteOf('two', { modelName: 'b', to: 'a' }),
      modelRouteOf('three', { loraAdapters: ['x', 'alone'], to: 'a' }),
    );
    expect(table.modelNames()).toEqual([{ id: 'alone' }, { id: 'b' }, { id: 'm' }, { id: 'x', parent: 'm' }]);
  });

  it('forgets what an update no longer has', () => {
    const table = tableOf(modelRouteOf('r', { modelName: 'm', to: 'a' }));
    table.update({ routes: [], modelServers: servers, providers: [] });
    expect(outcome(table.match(query('m')))).toBe('unknown-model');
    expect(table.modelNames()).toEqual([]);
  });
});
