import fc from 'fast-check';
import { FairQueue, type Waiter } from '../../../../../runtime/router/admission/queue/fair-queue';
import { UsageAccounts } from '../../../../../runtime/router/admission/queue/usage-accounts';

interface Request extends Waiter {
  readonly costs: number;
}

let order = 0;
function request(changes: Partial<Request> = {}): Request {
  const user = changes.user ?? 'a';
  return {
    lane: 'pool',
    rank: 0,
    user,
    account: user,
    order: order++,
    boostedAtMs: undefined,
    bytes: 10,
    tokens: 100,
    costs: 1,
    ...changes,
  };
}

const everywhere = (): boolean => true;

function drained(queue: FairQueue<Request>, isOpen: (lane: string) => boolean = everywhere): readonly Request[] {
  const gone: Request[] = [];
  for (let next = queue.first(isOpen); next !== undefined; next = queue.first(isOpen)) {
    queue.remove(next);
    gone.push(next);
  }
  return gone;
}

describe('the order of waiting requests', () => {
  const usage = new Map<string, number>();
  const queueOf = (...requests: readonly Request[]): FairQueue<Request> => {
    const queue = new FairQueue<Request>((account) => usage.get(account) ?? 0);
    for (const each of requests) queue.add(each);
    return queue;
  };
  beforeEach(() => usage.clear());

  it('is that of arrival where nothing else tells them apart', () => {
    const requests = [request(), request(), request()];
    expect(drained(queueOf(...requests))).toEqual(requests);
  });

  it('puts classes first, then users that used less, then sessions that had an answer last', () => {
    usage.set('heavy', 10);
    const low = request({ rank: 1, user: 'light' });
    const heavy = request({ user: 'heavy', boostedAtMs: 99 });
    const plain = request({ user: 'light' });
    const early = request({ user: 'light', boostedAtMs: 5 });
    const late = request({ user: 'light', boostedAtMs: 7 });
    expect(drained(queueOf(low, heavy, plain, early, late))).toEqual([late, early, plain, heavy, low]);
  });

  it('asks for usage when somebody may go, so that nothing in it is stale', () => {
    const [a, b] = [request({ user: 'a' }), request({ user: 'b' })];
    const queue = queueOf(a, b);
    expect(queue.first(everywhere)).toBe(a);
    usage.set('a', 1);
    expect(queue.first(everywhere)).toBe(b);
  });

  it('lets somebody go past those whose lane has no room', () => {
    const [full, free] = [request({ lane: 'full' }), request({ lane: 'free', rank: 3 })];
    const queue = queueOf(full, free);
    expect(drained(queue, (lane) => lane === 'free')).toEqual([free]);
    expect(queue.size).toBe(1);
  });

  it('counts what is ahead of a newcomer by lane and class', () => {
    const queue = queueOf(request({ rank: 0 }), request({ rank: 1 }), request({ rank: 2 }), request({ lane: 'other' }));
    expect(queue.ahead('pool', 1)).toEqual({ requests: 2, tokens: 200 });
    expect(queue.ahead('pool', 0)).toEqual({ requests: 1, tokens: 100 });
    expect(queue.ahead('nowhere', 5)).toEqual({ requests: 0, tokens: 0 });
  });

  describe('who gives way when nobody else fits in', () => {
    it('is the youngest of the last class, for somebody of a class before it', () => {
      const [older, younger] = [request({ rank: 2, user: 'b' }), request({ rank: 2, user: 'b' })];
      const queue = queueOf(request({ rank: 0 }), older, younger);
      expect(queue.givesWay(1, 'c')).toBe(younger);
      expect(queue.givesWay(3, 'c')).toBeUndefined();
    });

    it('is in one’s own class only a user that still has more waiting', () => {
      const many = [request({ user: 'many' }), request({ user: 'many' }), request({ user: 'many' })];
      const queue = queueOf(...many, request({ user: 'few' }));
      expect(queue.givesWay(0, 'new')).toBe(many[2]);
      expect(queue.givesWay(0, 'few')).toBe(many[2]);
      expect(queue.givesWay(0, 'many')).toBeUndefined();
    });
  });

  const arbitrary = fc.record({
    lane: fc.constantFrom('x', 'y'),
    rank: fc.integer({ min: 0, max: 2 }),
    user: fc.constantFrom('a', 'b', 'c', ''),
    boostedAtMs: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
    bytes: fc.integer({ min: 0, max: 100 }),
    tokens: fc.integer({ min: 1, max: 100 }),
  });

  it('B18: is a total order for any mixture of users, anonymous ones among them: always the least, and nobody lost', () => {
    fc.assert(
      fc.property(
        fc.array(arbitrary, { maxLength: 40 }),
        fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 4, maxLength: 4 }),
        fc.array(fc.nat(), { maxLength: 10 }),
        (requests, used, leaving) => {
          const users = ['a', 'b', 'c', ''];
          users.forEach((user, i) => {
            usage.set(user, used[i]!);
          });
          const all = requests.map((each) => request({ ...each, account: each.user }));
          const queue = queueOf(...all);
          for (const index of leaving) if (all.length > 0) queue.remove(all.splice(index % all.length, 1)[0]!);
          expect(queue.size).toBe(all.length);
          expect(queue.bytes).toBe(all.reduce((sum, { bytes }) => sum + bytes, 0));
          const key = (each: Request): readonly number[] => [
            each.rank,
            usage.get(each.account)!,
            -(each.boostedAtMs ?? Number.NEGATIVE_INFINITY),
            each.order,
          ];
          const expected = [...all].sort((a, b) => {
            const [ka, kb] = [key(a), key(b)];
            const at = ka.findIndex((value, i) => value !== kb[i]);
            return at < 0 ? 0 : ka[at]! < kb[at]! ? -1 : 1;
          });
          expect(drained(queue).map((each) => each.order)).toEqual(expected.map((each) => each.order));
          expect([queue.size, queue.bytes, [...queue.all()].length]).toEqual([0, 0, 0]);
          expect(queue.ahead('x', 9)).toEqual({ requests: 0, tokens: 0 });
        },
      ),
    );
  });
});

describe('what users used lately', () => {
  it('is the sum over the window, and leaves it in steps of a sixtieth', () => {
    const accounts = new UsageAccounts(60_000);
    accounts.add('a', 5, 0);
    accounts.add('a', 7, 30_500);
    expect([30_500, 59_999, 60_000, 89_999, 90_000].map((ms) => accounts.usage('a', ms))).toEqual([12, 12, 7, 7, 0]);
    expect(accounts.usage('b', 0)).toBe(0);
  });

  it('loses what is given back where it was charged, and nothing once that has left the window', () => {
    const accounts = new UsageAccounts(60_000);
    accounts.add('a', 5, 0);
    accounts.add('a', 7, 30_000);
    accounts.add('a', -5, 0);
    expect([59_500, 60_500].map((ms) => accounts.usage('a', ms))).toEqual([7, 7]);
    accounts.add('a', 4, 61_000);
    accounts.add('a', -5, 0);
    expect(accounts.usage('a', 61_000)).toBe(11);
  });

  it('shares a pod between users that always have something waiting in virtual time, whatever their requests cost', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 2, maxLength: 5 }),
        fc.integer({ min: 1, max: 4 }),
        (costs, requestsPerTurn) => {
          const windowMs = 60_000;
          const accounts = new UsageAccounts(windowMs);
          let nowMs = 0;
          const queue = new FairQueue<Request>((account) => accounts.usage(account, nowMs));
          const served = costs.map(() => 0);
          const arrive = (i: number): void => {
            for (let n = 0; n < requestsPerTurn; n++)
              queue.add(request({ user: String(i), account: String(i), costs: costs[i]! }));
          };
          for (const i of costs.keys()) arrive(i);
          // One request at a time, each as long as it costs.
          while (nowMs < windowMs - 1_000) {
            const next = queue.first(everywhere)!;
            queue.remove(next);
            accounts.add(next.account, next.costs, nowMs);
            served[Number(next.user)]! += next.costs;
            if (![...queue.all()].some(({ user }) => user === next.user)) arrive(Number(next.user));
            nowMs += 20 * next.costs;
          }
          // Inside a window nobody is ahead of another by more than one request.
          expect(Math.max(...served) - Math.min(...served)).toBeLessThanOrEqual(Math.max(...costs));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('B18: remembers no more accounts than it is to', () => {
    const accounts = new UsageAccounts(60_000);
    for (let i = 0; i < 60_000; i++) accounts.add(`user-${i}`, 1, 0);
    expect(accounts.usage('user-0', 0)).toBe(0);
    expect(accounts.usage('user-59999', 0)).toBe(1);
  });
});
