import { Metrics } from '../../../../runtime/lib/metrics';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { ANONYMOUS, type Identity } from '../../../../runtime/router/admission/identity';
import { SessionMetrics } from '../../../../runtime/router/observability/session-metrics';
import { type SessionInput, sessionNameOf } from '../../../../runtime/router/routing/session-source';
import { Sessions } from '../../../../runtime/router/routing/sessions';
import type { SessionAffinity } from '../../../../src/api/model-route';
import { modelRouteOf } from '../../../helpers/router-cluster';

const affinity = (changes: Partial<SessionAffinity> = {}): SessionAffinity => ({
  source: 'header',
  name: 'X-Session',
  ttl: '1m',
  ...changes,
});
const input = (changes: Partial<SessionInput> = {}): SessionInput => ({
  headers: {},
  query: '',
  identity: ANONYMOUS,
  ...changes,
});
const route = modelRouteOf('r', {});
const server = { modelServerName: 's', weight: 100 };

describe('the name of a session', () => {
  const claims: Identity = { ...ANONYMOUS, claims: { sid: 'c', n: 7, list: ['a'] } };
  it.each<[string, Partial<SessionAffinity>, Partial<SessionInput>, string | undefined]>([
    ['a header, in any case', {}, { headers: { 'x-session': 'a' } }, 'a'],
    ['no header', {}, {}, undefined],
    ['an empty header', {}, { headers: { 'x-session': '' } }, undefined],
    ['a cookie among others', { source: 'cookie', name: 'sid' }, { headers: { cookie: 'a=1; sid=b; sidx=3' } }, 'b'],
    ['the first of two cookies', { source: 'cookie', name: 'sid' }, { headers: { cookie: 'sid=b;sid=c' } }, 'b'],
    ['a cookie with an equals sign in it', { source: 'cookie', name: 'sid' }, { headers: { cookie: 'sid=YQ==' } }, 'YQ=='],
    ['a cookie of another case', { source: 'cookie', name: 'sid' }, { headers: { cookie: 'SID=b' } }, undefined],
    ['a parameter of the URL, decoded', { source: 'query', name: 'sid' }, { query: '?x=1&sid=a%20b' }, 'a b'],
    ['no parameter', { source: 'query', name: 'sid' }, { query: '' }, undefined],
    ['a claim', { source: 'claim', name: 'sid' }, { identity: claims }, 'c'],
    ['a claim that is a number', { source: 'claim', name: 'n' }, { identity: claims }, '7'],
    ['a claim that is a list', { source: 'claim', name: 'list' }, { identity: claims }, undefined],
    ['a claim by the name of a method', { source: 'claim', name: 'toString' }, { identity: claims }, undefined],
  ])('is %s', (_name, how, where, expected) => {
    expect(sessionNameOf(affinity(how), input(where))).toBe(expected);
  });
});

describe('sessions', () => {
  const clock = new VirtualClock();
  const sessionsOf = (maxEntries = 100): Sessions => new Sessions(clock, new SessionMetrics(new Metrics()), { maxEntries });
  const named = (name: string, identity: Identity = ANONYMOUS) => input({ headers: { 'x-session': name }, identity });

  it('are remembered until they were silent for as long as the route says', () => {
    const sessions = sessionsOf();
    const placeAfter = (ms: number) => {
      clock.advance(ms);
      const session = sessions.find(route, affinity(), named('a'))!;
      const { place } = session;
      sessions.bind(session, server, 'pod');
      return place?.endpointId;
    };
    expect([0, 59_000, 59_000, 60_001, 1].map(placeAfter)).toEqual([undefined, 'pod', 'pod', undefined, 'pod']);
  });

  it('are forgotten from the least recently used on when there are too many', () => {
    const sessions = sessionsOf(2);
    for (const name of ['a', 'b', 'a', 'c']) sessions.bind(sessions.find(route, affinity(), named(name))!, server, name);
    const places = ['a', 'b', 'c'].map((name) => sessions.find(route, affinity(), named(name))!.place?.endpointId);
    expect(places).toEqual(['a', undefined, 'c']);
  });

  it('of one name are others for another route, tenant and user', () => {
    const sessions = sessionsOf();
    sessions.bind(sessions.find(route, affinity(), named('a'))!, server, 'pod');
    const others: [typeof route, Identity][] = [
      [modelRouteOf('other', {}), ANONYMOUS],
      [route, { ...ANONYMOUS, tenant: 'red' }],
      [route, { ...ANONYMOUS, user: 'red' }],
    ];
    for (const [where, who] of others) expect(sessions.find(where, affinity(), named('a', who))!.place).toBeUndefined();
    expect(sessions.find(route, affinity(), named('a'))!.place).toEqual({ target: 'server s', endpointId: 'pod' });
  });

  it('are given to clients by a cookie, each its own, and by nothing else', () => {
    const sessions = sessionsOf();
    const given = [1, 2].map(() => sessions.find(route, affinity({ source: 'cookie', name: 'sid' }), input())!.cookie);
    expect(new Set(given).size).toBe(2);
    expect(given[0]).toMatch(/^sid=[A-Za-z0-9_-]{22}; Path=\/; HttpOnly; SameSite=Lax$/);
    const session = sessions.find(route, affinity({ source: 'cookie', name: 'sid' }), input({ headers: { cookie: 'sid=own' } }))!;
    expect(session.cookie).toBeUndefined();
    for (const source of ['header', 'query', 'claim'] as const) {
      expect(sessions.find(route, affinity({ source, name: 'sid' }), input())).toBeUndefined();
    }
  });
});
