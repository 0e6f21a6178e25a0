import fc from 'fast-check';
import { InFlightLedger, type LedgerEntry } from '../../../../runtime/router/endpoints/in-flight-ledger';

const RATE = 1000;

describe('the in-flight ledger', () => {
  it('holds uncached tokens until the first token', () => {
    const ledger = new InFlightLedger();
    const entry = ledger.dispatch({ uncachedTokens: 500, kvTokens: 700 }, 0);
    expect(ledger.queuedTokens(100, RATE)).toBe(500);
    entry.prefilled(200);
    expect(ledger.queuedTokens(200, RATE)).toBe(0);
    expect(ledger.running).toBe(1);
    expect(ledger.kvTokens).toBe(700);
    entry.close(300);
    expect([ledger.running, ledger.kvTokens]).toEqual([0, 0]);
  });

  it('releases an entry at its modelled end of prefill when no first token is seen', () => {
    const ledger = new InFlightLedger();
    ledger.dispatch({ uncachedTokens: 500, kvTokens: 0 }, 0);
    expect(ledger.queuedTokens(499, RATE)).toBe(500);
    expect(ledger.queuedTokens(500, RATE)).toBe(0);
    expect(ledger.running).toBe(1);
  });

  it('models prompts one after the other in order of dispatch', () => {
    const ledger = new InFlightLedger();
    ledger.dispatch({ uncachedTokens: 500, kvTokens: 0 }, 0);
    ledger.dispatch({ uncachedTokens: 300, kvTokens: 0 }, 400);
    expect(ledger.queuedTokens(400, RATE)).toBe(800);
    expect(ledger.queuedTokens(500, RATE)).toBe(300);
    expect(ledger.queuedTokens(799, RATE)).toBe(300);
    expect(ledger.queuedTokens(800, RATE)).toBe(0);
  });

  it('starts the next prompt when the first one ended early', () => {
    const ledger = new InFlightLedger();
    const first = ledger.dispatch({ uncachedTokens: 500, kvTokens: 0 }, 0);
    ledger.dispatch({ uncachedTokens: 300, kvTokens: 0 }, 0);
    first.prefilled(100);
    expect(ledger.queuedTokens(399, RATE)).toBe(300);
    expect(ledger.queuedTokens(400, RATE)).toBe(0);
  });

  it('gives a prompt sent to an idle endpoint its whole time, however long the idle time was', () => {
    const ledger = new InFlightLedger();
    ledger.dispatch({ uncachedTokens: 100, kvTokens: 0 }, 0).close(50);
    ledger.dispatch({ uncachedTokens: 100, kvTokens: 0 }, 10_000);
    expect(ledger.queuedTokens(10_050, RATE)).toBe(100);
  });

  it('counts what was prefilled, whether a first token or the model says so', () => {
    const ledger = new InFlightLedger();
    const seen = ledger.dispatch({ uncachedTokens: 500, kvTokens: 0 }, 0);
    ledger.dispatch({ uncachedTokens: 300, kvTokens: 0 }, 0);
    expect(ledger.prefilledTokens).toBe(0);
    seen.prefilled(100);
    expect(ledger.prefilledTokens).toBe(500);
    seen.close(150);
    ledger.queuedTokens(400, RATE);
    expect(ledger.prefilledTokens).toBe(800);
  });

  it('holds the context of what is in flight, cached or not', () => {
    const ledger = new InFlightLedger();
    const warm = ledger.dispatch({ uncachedTokens: 10, kvTokens: 60, contextTokens: 4050 }, 0);
    ledger.dispatch({ uncachedTokens: 100, kvTokens: 150 }, 0);
    expect(ledger.contextTokens).toBe(4200);
    warm.close(10);
    expect(ledger.contextTokens).toBe(150);
  });

  it('is empty after any mix of first tokens, ends and double ends, and never negative before', () => {
    const step = fc.record({
      kind: fc.constantFrom('dispatch', 'prefilled', 'close', 'look'),
      which: fc.nat(10),
      tokens: fc.nat(5000),
      afterMs: fc.nat(800),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const ledger = new InFlightLedger();
        const entries: LedgerEntry[] = [];
        let nowMs = 0;
        for (const { kind, which, tokens, afterMs } of steps) {
          nowMs += afterMs;
          if (kind === 'dispatch') entries.push(ledger.dispatch({ uncachedTokens: tokens, kvTokens: tokens / 3 }, nowMs));
          else if (kind === 'look') expect(ledger.queuedTokens(nowMs, RATE)).toBeGreaterThanOrEqual(0);
          else if (entries.length > 0) entries[which % entries.length]![kind as 'prefilled' | 'close'](nowMs);
          expect(ledger.running).toBeGreaterThanOrEqual(0);
        }
        for (const entry of entries) entry.close(nowMs);
        expect([ledger.running, ledger.kvTokens, ledger.contextTokens, ledger.queuedTokens(nowMs, RATE)]).toEqual([0, 0, 0, 0]);
      }),
    );
  });
});
