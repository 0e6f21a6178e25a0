import { decodeRouterConfig, defaultRouterConfig, type RouterConfig } from '../../../src/config/router-config';
import { configChange, restartDocument } from '../../../src/config/router-reload';

const configOf = (document: object): RouterConfig => {
  const decoded = decodeRouterConfig(document);
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  return decoded.config;
};

describe('A change of the router’s configuration', () => {
  it('is nothing when nothing differs, and keeps every object', () => {
    const running = defaultRouterConfig();
    const { config, applied, awaiting } = configChange(running, defaultRouterConfig());
    expect({ applied, awaiting }).toEqual({ applied: [], awaiting: [] });
    expect(config).toBe(running);
  });

  it('names each field that is taken over and each that needs a restart, and holds the old values of these', () => {
    const running = defaultRouterConfig();
    const wanted = configOf({
      retry: { attempts: 5 },
      deadlines: { idleMs: 7, connectMs: 9 },
      sessions: { maxEntries: 3 },
      redis: { address: 'r:6379' },
      profile: 'random',
    });
    const { config, applied, awaiting } = configChange(running, wanted);
    expect(applied).toEqual(['deadlines.idleMs', 'profile', 'retry.attempts']);
    expect(awaiting).toEqual(['deadlines.connectMs', 'redis', 'sessions.maxEntries']);
    expect(config).toEqual({
      ...running,
      profile: 'random',
      retry: wanted.retry,
      deadlines: { ...running.deadlines, idleMs: 7 },
    });
    expect(config.accessLog).toBe(running.accessLog);
  });

  it('may take a section away', () => {
    const running = configOf({ auth: { apiKeys: {} }, cors: { origins: ['*'] }, redis: { address: 'r:6379' } });
    const { config, applied, awaiting } = configChange(running, defaultRouterConfig());
    expect(applied).toEqual(['auth', 'cors']);
    expect(awaiting).toEqual(['redis']);
    expect(config).toEqual({ ...defaultRouterConfig(), redis: { address: 'r:6379' } });
  });
});

describe('The part of a document that pods restart for', () => {
  it.each([
    [{}, {}],
    [{ retry: { attempts: 1 }, limits: { bodyBytes: 1 } }, {}],
    [{ deadlines: { idleMs: 1, connectMs: 2 } }, { deadlines: { connectMs: 2 } }],
    [
      { redis: { address: 'r:1' }, rateLimit: { replicas: 2, cachedTokenWeight: 0 } },
      { redis: { address: 'r:1' }, rateLimit: { replicas: 2 } },
    ],
    [{ newSection: { any: 1 } }, { newSection: { any: 1 } }],
  ])('of %j is %j', (document, part) => {
    expect(restartDocument(document)).toEqual(part);
  });
});
