import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { type FetchOutcome, JwksKeys } from '../../../../runtime/router/admission/jwks-keys';
import { turns } from '../../../helpers/manifest-folder';

const config = { refreshMs: 600_000, minRefreshMs: 30_000, timeoutMs: 5_000 };
const key = (kid: string) => ({ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid });

/** An issuer whose answers a test gives. */
function open(first: unknown) {
  const clock = new VirtualClock();
  const outcomes: FetchOutcome[] = [];
  const state = { document: first, fetches: [] as number[], hangs: false, aborted: 0 };
  const keys = new JwksKeys({
    clock,
    config,
    onFetch: (outcome) => outcomes.push(outcome),
    fetch: (signal) => {
      state.fetches.push(clock.monotonic());
      signal.addEventListener('abort', () => {
        state.aborted += 1;
      });
      if (state.hangs) return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return state.document instanceof Error ? Promise.reject(state.document) : Promise.resolve(state.document);
    },
  });
  /** Lets time pass with all that happens in it. */
  const pass = async (ms: number): Promise<void> => {
    const end = clock.monotonic() + ms;
    while (clock.monotonic() < end) {
      clock.advance(Math.min(500, end - clock.monotonic()));
      await turns(2);
    }
  };
  return { clock, outcomes, state, keys, pass };
}

it('keys are fetched at the start and every refreshMs', async () => {
  const { keys, state, pass, outcomes } = open({ keys: [key('a')] });
  await turns();
  expect(keys.current?.has('a')).toBe(true);
  state.document = { keys: [key('b')] };
  await pass(599_000);
  expect(keys.current?.has('b')).toBe(false);
  await pass(2_000);
  expect([keys.current?.has('a'), keys.current?.has('b')]).toEqual([false, true]);
  expect(state.fetches).toEqual([0, 600_000]);
  await pass(600_000);
  expect(outcomes).toEqual([
    { kind: 'fetched', isChanged: true },
    { kind: 'fetched', isChanged: true },
    { kind: 'fetched', isChanged: false },
  ]);
  keys.close();
});

it('the same keys again are the same value, so that tokens stay verified', async () => {
  const { keys, pass } = open({ keys: [key('a')] });
  await turns();
  const before = keys.current;
  await pass(1_300_000);
  expect(keys.current).toBe(before);
  keys.close();
});

it('a fetch that fails is tried again after 1, 2, 4, 8, 16 and then every 30 seconds', async () => {
  const { keys, state, pass, outcomes } = open(new Error('no'));
  await turns();
  await pass(95_000);
  expect(state.fetches).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000]);
  expect(outcomes[0]).toEqual({ kind: 'failed', reason: 'no' });
  state.document = { keys: [key('a')] };
  await pass(30_000);
  expect(keys.current?.has('a')).toBe(true);
  await pass(500_000);
  expect(state.fetches.length).toBe(9);
  keys.close();
});

it('an outage of days leaves the last keys in use', async () => {
  const { keys, state, pass } = open({ keys: [key('a')] });
  await turns();
  state.document = new Error('down');
  await pass(3 * 3_600_000);
  expect(keys.current?.has('a')).toBe(true);
  keys.close();
});

it('an unknown kid asks once in minRefreshMs, and requests share one fetch', async () => {
  const { keys, state, pass } = open({ keys: [key('a')] });
  await turns();
  await Promise.all([keys.renew(), keys.renew()]);
  expect(state.fetches).toHaveLength(1);
  await pass(30_000);
  state.document = { keys: [key('a'), key('b')] };
  const renewed = await Promise.all([keys.renew(), keys.renew(), keys.renew()]);
  expect(renewed.map((set) => set?.has('b'))).toEqual([true, true, true]);
  expect(state.fetches).toEqual([0, 30_000]);
  await keys.renew();
  expect(state.fetches).toHaveLength(2);
  keys.close();
});

it('a fetch ends at its timeout, and with the router', async () => {
  const hanging = open({ keys: [] });
  hanging.state.hangs = true;
  await hanging.pass(1_500);
  const first = hanging.keys.first();
  await hanging.pass(5_000);
  expect(await first).toBeUndefined();
  expect(hanging.outcomes.at(-1)).toEqual({ kind: 'failed', reason: 'no answer in 5000 ms' });
  await hanging.pass(5_000);
  const before = hanging.outcomes.length;
  const { fetches } = hanging.state;
  expect(fetches.length).toBeGreaterThan(1);
  hanging.keys.close();
  const made = fetches.length;
  await hanging.pass(60_000);
  expect([hanging.outcomes.length, fetches.length, hanging.state.aborted]).toEqual([before, made, made]);
});

it.each([
  ['no document', null, 'the document has no list of keys'],
  ['no list', { keys: {} }, 'the document has no list of keys'],
  ['no key', { keys: [] }, 'the document has no public key with a kid'],
  ['keys without a name', { keys: [{ ...key('a'), kid: undefined }] }, 'the document has no public key with a kid'],
  ['shared secrets', { keys: [{ kty: 'oct', kid: 'a', k: 'AAAA' }, 'x', null] }, 'the document has no public key with a kid'],
])('%s is a failed fetch', async (_name, document, reason) => {
  const { keys, outcomes } = open(document);
  await turns();
  expect([keys.current, outcomes]).toEqual([undefined, [{ kind: 'failed', reason }]]);
  keys.close();
});
