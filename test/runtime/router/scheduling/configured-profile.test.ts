import { configuredProfile, PROFILE_NAMES } from '../../../../runtime/router/scheduling/configured-profile';
import { routeProfiles } from '../../../../runtime/router/scheduling/route-profiles';
import { candidate, scheduledRequest } from '../../../helpers/candidates';

type Config = Parameters<typeof configuredProfile>[0];
type Plugins = NonNullable<NonNullable<Config['scheduler']>['plugins']>;

function shapeOf(config: Config) {
  const { profile, findings } = configuredProfile(config);
  return {
    name: profile.name,
    filters: profile.filters.map(({ name }) => name),
    scorers: profile.scorers.map(({ scorer, weight }) => [scorer.name, weight]),
    findings: findings.map(({ field, severity }) => `${severity} ${field}`),
  };
}

const withPlugins = (plugins: Plugins, pluginConfig: NonNullable<Config['scheduler']>['pluginConfig'] = []): Config => ({
  scheduler: { plugins, pluginConfig },
});

describe('the configured profile', () => {
  it('is expected-latency for an empty document', () => {
    expect(shapeOf({})).toMatchObject({ name: 'expected-latency', findings: [] });
    expect(shapeOf({ scheduler: { pluginConfig: [] } }).name).toBe('expected-latency');
  });

  it("is what Kthena's own default configuration enables", () => {
    const scores = ['least-request', 'gpu-usage', 'least-latency', 'prefix-cache'].map((name) => ({ name, weight: 1 }));
    expect(shapeOf(withPlugins({ Filter: { enabled: ['least-request'] }, Score: { enabled: scores } }))).toEqual({
      name: 'configured',
      filters: ['least-request'],
      scorers: scores.map(({ name }) => [name, 1]),
      findings: [],
    });
  });

  it.each(PROFILE_NAMES)('may be named: %s', (name) => {
    expect(shapeOf({ profile: name })).toMatchObject({ name, findings: [] });
  });

  it('counts late tokens under expected-latency where its arguments have an objective, and says which ones are none', () => {
    const withGoal = (itlMs: unknown) => withPlugins({}, [{ name: 'expected-latency', args: { itlMs } }]);
    expect(shapeOf(withGoal(60)).scorers).toContainEqual(['late-tokens', 2]);
    expect(shapeOf(withGoal(60)).findings).toEqual([]);
    expect(shapeOf({}).scorers.map(([name]) => name)).not.toContain('late-tokens');
    expect(shapeOf(withGoal('60 ms')).findings).toEqual(['warning scheduler.pluginConfig']);
    const profiles = { fast: { pluginConfig: [{ name: 'expected-latency', args: { itlMs: 0 } }] } };
    expect(shapeOf({ profile: 'fast', profiles }).findings).toEqual(['warning profiles.fast.pluginConfig']);
  });

  it('counts prices under expected-latency where its arguments say what money is worth', () => {
    const withPrice = (secondsPerUnit: unknown) => withPlugins({}, [{ name: 'expected-latency', args: { secondsPerUnit } }]);
    expect(shapeOf(withPrice(60)).scorers).toContainEqual(['pod-price', 1]);
    expect(shapeOf({}).scorers.map(([name]) => name)).not.toContain('pod-price');
    for (const bad of ['60', 0, -1]) expect(shapeOf(withPrice(bad)).findings).toEqual(['warning scheduler.pluginConfig']);
  });

  it('by name wins over plugins', () => {
    expect(
      shapeOf({ ...withPlugins({ Score: { enabled: [{ name: 'random', weight: 1 }] } }), profile: 'expected-latency' }).name,
    ).toBe('expected-latency');
  });

  it('falls back to expected-latency for a name that is none, and says which there are', () => {
    const { profile, findings } = configuredProfile({ profile: 'round-robin' });
    expect(profile.name).toBe('expected-latency');
    expect(findings).toEqual([
      expect.objectContaining({ code: 'config/unknown-profile', remedy: expect.stringContaining('least-request') }),
    ]);
  });

  it('names a score plugin that it lacks', () => {
    const name = 'no-such-plugin';
    const config = withPlugins({
      Score: {
        enabled: [
          { name: 'least-request', weight: 1 },
          { name, weight: 1 },
        ],
      },
    });
    expect(shapeOf(config)).toMatchObject({
      scorers: [['least-request', 1]],
      findings: ['warning scheduler.plugins.Score.enabled[1]'],
    });
    expect(configuredProfile(config).findings[0]!.message).toContain(name);
  });

  it('names a filter plugin that it lacks', () => {
    expect(shapeOf(withPlugins({ Filter: { enabled: ['no-such-plugin'] } }))).toMatchObject({
      filters: [],
      findings: ['warning scheduler.plugins.Filter.enabled[0]'],
    });
  });

  it('leaves random out beside others, as Kthena does, and keeps it alone', () => {
    const random = { name: 'random', weight: 1 };
    expect(shapeOf(withPlugins({ Score: { enabled: [random, { name: 'gpu-usage', weight: 2 }] } }))).toMatchObject({
      scorers: [['gpu-usage', 2]],
      findings: ['warning scheduler.plugins.Score.enabled'],
    });
    expect(shapeOf(withPlugins({ Score: { enabled: [random] } }))).toMatchObject({ scorers: [['random', 1]], findings: [] });
  });

  it.each([undefined, 0, -3])('warns of weight %s, which never counts', (weight) => {
    const enabled = [weight === undefined ? { name: 'gpu-usage' } : { name: 'gpu-usage', weight }];
    expect(shapeOf(withPlugins({ Score: { enabled } }))).toMatchObject({
      scorers: [['gpu-usage', 0]],
      findings: ['warning scheduler.plugins.Score.enabled[0].weight'],
    });
  });

  it('takes the last of two entries of one name', () => {
    const enabled = [
      { name: 'gpu-usage', weight: 1 },
      { name: 'gpu-usage', weight: 5 },
    ];
    expect(shapeOf(withPlugins({ Score: { enabled } })).scorers).toEqual([['gpu-usage', 5]]);
  });

  it.each<[string, Record<string, unknown>, number]>([
    ['maxWaitingRequests', { maxWaitingRequests: 3 }, 3],
    ['another spelling of it', { MAXWAITINGREQUESTS: 3 }, 3],
    ['0, which is the default', { maxWaitingRequests: 0 }, 10],
    ['a negative number, which is the default', { maxWaitingRequests: -1 }, 10],
    ['no number, which is the default', { maxWaitingRequests: 'many' }, 10],
    ['nothing', {}, 10],
  ])('reads the arguments of least-request: %s', (_name, args, limit) => {
    const config = withPlugins({ Filter: { enabled: ['least-request'] } }, [{ name: 'least-request', args }]);
    const filter = configuredProfile(config).profile.filters[0]!;
    const keeps = (waiting: number) => filter.keeps(scheduledRequest(), candidate(0, { scraped: { waiting } }));
    expect([keeps(limit - 1), keeps(limit)]).toEqual([true, false]);
  });

  it('reads the objective of expected-latency', () => {
    const config: Config = { scheduler: { pluginConfig: [{ name: 'expected-latency', args: { objective: 'ttft' } }] } };
    expect(shapeOf(config).scorers).toContainEqual(['decode-time', 0.25]);
    expect(shapeOf({}).scorers).toContainEqual(['decode-time', 0.5]);
  });

  it('has all of Kthena’s plugins', () => {
    const scores = ['least-request', 'least-latency', 'gpu-usage', 'prefix-cache', 'kvcache-aware'];
    const plugins: Plugins = {
      Filter: { enabled: ['least-request', 'lora-affinity'] },
      Score: { enabled: scores.map((name) => ({ name, weight: 1 })) },
    };
    expect(shapeOf(withPlugins(plugins))).toMatchObject({
      filters: ['least-request', 'lora-affinity'],
      scorers: scores.map((name) => [name, 1]),
      findings: [],
    });
  });

  it.each<[string, readonly unknown[]]>([
    ['its name', ['gpu-usage']],
    ['an entry as an enabled one is', [{ name: 'gpu-usage' }]],
    ['all', ['*']],
  ])('leaves out what is enabled and disabled by %s, and says so', (_name, disabled) => {
    const plugins: Plugins = {
      Filter: { enabled: ['least-request'], disabled: ['least-request'] },
      Score: { enabled: [{ name: 'gpu-usage', weight: 1 }], disabled: [...disabled] },
    };
    expect(shapeOf(withPlugins(plugins))).toMatchObject({
      filters: [],
      scorers: [],
      findings: ['warning scheduler.plugins.Filter.disabled', 'warning scheduler.plugins.Score.disabled'],
    });
  });

  it('takes a disabled plugin that nobody enabled as it is: off', () => {
    const plugins: Plugins = { Score: { enabled: [{ name: 'gpu-usage', weight: 1 }], disabled: ['random', 7] } };
    expect(shapeOf(withPlugins(plugins))).toMatchObject({ scorers: [['gpu-usage', 1]], findings: [] });
  });

  it('asks who holds KV blocks where kvcache-aware counts, and only there', () => {
    const asks = (weight: number) =>
      configuredProfile(withPlugins({ Score: { enabled: [{ name: 'kvcache-aware', weight }] } })).profile.kvBlocks !== undefined;
    expect([asks(1), asks(0)]).toEqual([true, false]);
    expect(configuredProfile({ profile: 'kvcache-aware' }).profile.kvBlocks).toMatchObject({ tokensPerBlock: 16 });
    expect(configuredProfile({}).profile.kvBlocks).toBeUndefined();
  });

  it('may be one of the configuration’s own, by its name', () => {
    const profiles: Config['profiles'] = {
      cheap: {
        plugins: {
          Score: {
            enabled: [
              { name: 'gpu-usage', weight: 2 },
              { name: 'none', weight: 1 },
            ],
          },
        },
      },
      fast: { pluginConfig: [{ name: 'expected-latency', args: { objective: 'ttft' } }] },
      random: { plugins: { Score: { enabled: [{ name: 'least-request', weight: 1 }] } } },
    };
    expect(shapeOf({ profile: 'cheap', profiles })).toMatchObject({
      name: 'cheap',
      scorers: [['gpu-usage', 2]],
      findings: ['warning profiles.cheap.plugins.Score.enabled[1]'],
    });
    expect(shapeOf({ profile: 'fast', profiles })).toMatchObject({ name: 'fast', findings: [] });
    expect(shapeOf({ profile: 'fast', profiles }).scorers).toContainEqual(['decode-time', 0.25]);
    // The configuration's own word counts before a built-in one.
    expect(shapeOf({ profile: 'random', profiles }).scorers).toEqual([['least-request', 1]]);
    expect(configuredProfile({ profile: 'dear', profiles }).findings[0]!.remedy).toContain(
      'cheap, fast, random, expected-latency',
    );
  });
});

describe('profiles of single routes', () => {
  it('are none without any', () => {
    expect(routeProfiles({})).toEqual({ byRoute: undefined, findings: [] });
  });

  it('are built in or the configuration’s own, and one that is neither is named', () => {
    const { byRoute, findings } = routeProfiles({
      profiles: { cheap: { plugins: { Score: { enabled: [{ name: 'gpu-usage', weight: 2 }] } } } },
      routeProfiles: { 'default/a': 'cheap', 'default/b': 'random', 'default/c': 'dear' },
    });
    expect([...byRoute!].map(([route, { name }]) => [route, name])).toEqual([
      ['default/a', 'cheap'],
      ['default/b', 'random'],
      ['default/c', 'expected-latency'],
    ]);
    expect(findings.map(({ code, field }) => [code, field])).toEqual([['config/unknown-profile', 'routeProfiles.default/c']]);
  });
});
