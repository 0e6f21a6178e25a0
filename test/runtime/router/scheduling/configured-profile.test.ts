import { configuredProfile, PROFILE_NAMES } from '../../../../runtime/router/scheduling/configured-profile';
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

  it.each(['kvcache-aware', 'no-such-plugin'])('names a score plugin that it lacks: %s', (name) => {
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
    expect(shapeOf(withPlugins({ Filter: { enabled: ['lora-affinity'] } }))).toMatchObject({
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
    expect(shapeOf({}).scorers).toContainEqual(['decode-time', 1]);
  });
});
