import {
  afterEvent,
  ELECTION_START,
  type ElectionEvent,
  type ElectionRules,
  type ElectionState,
  leads,
  nextStep,
  standsBy,
} from '../../../../runtime/cluster/election/election-state';
import type { ReadLease } from '../../../../runtime/cluster/election/lease-record';
import type { ReadOutcome, WriteOutcome } from '../../../../runtime/cluster/outcome';

const rules: ElectionRules = { identity: 'me', leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };
const away = { kind: 'unavailable', message: 'connection refused' } as const;

const lease = (holder: string | undefined, version: string, durationMs = 15_000): ReadLease => ({
  holder,
  version,
  durationMs,
  transitions: 3,
  acquiredMs: 1,
});
const read = (atMs: number, outcome: ReadOutcome<ReadLease>): ElectionEvent => ({ kind: 'read', atMs, outcome });
const found = (atMs: number, value: ReadLease): ElectionEvent => read(atMs, { kind: 'found', value });
const woke = (atMs: number): ElectionEvent => ({ kind: 'woke', atMs });

/** One process in an election, driven by hand. */
class Contestant {
  state: ElectionState = ELECTION_START;

  take(...events: readonly ElectionEvent[]): this {
    for (const event of events) this.state = afterEvent(this.state, event, rules);
    return this;
  }

  /** Carries out the write that is next. */
  write(sentMs: number, atMs: number, outcome: WriteOutcome): this {
    const step = this.step(sentMs);
    if (step.kind !== 'write') throw new Error(`next is ${step.kind}`);
    return this.take({ kind: 'written', sentMs, atMs, record: step.record, outcome });
  }

  step(atMs: number) {
    return nextStep(this.state, rules, atMs, 1_000_000 + atMs);
  }
}

const applied = (version: string): WriteOutcome => ({ kind: 'applied', version });
const leader = () => new Contestant().take(read(0, { kind: 'gone' })).write(0, 10, applied('1'));

describe('a process in an election', () => {
  it('makes the Lease where there is none, and leads', () => {
    const one = new Contestant().take(read(0, { kind: 'gone' }));
    expect(one.step(5)).toEqual({
      kind: 'write',
      version: undefined,
      record: { holder: 'me', durationMs: 15_000, transitions: 0, acquiredMs: 1_000_005 },
    });
    one.write(5, 10, applied('1'));
    expect([leads(one.state, 10), leads(one.state, 10_004), leads(one.state, 10_005)]).toEqual([true, true, false]);
  });

  it('waits out a lease that it sees for the first time, however old the times in it are', () => {
    const one = new Contestant().take(found(1000, lease('old', '7')));
    expect(one.step(1000)).toEqual({ kind: 'wait', ms: 2000 });
    expect(standsBy(one.state, rules, 1000)).toBe(true);
    one.take(woke(3000), found(15_999, lease('old', '7')));
    expect(one.step(15_999).kind).toBe('wait');
    one.take(woke(17_999), found(16_000, lease('old', '7')));
    expect(one.step(16_000)).toMatchObject({ kind: 'write', version: '7', record: { holder: 'me', transitions: 4 } });
  });

  it('waits as long as the holder promised, not as long as it would itself', () => {
    const one = new Contestant().take(found(0, lease('old', '7', 60_000)), woke(2000), found(59_999, lease('old', '7', 60_000)));
    expect(one.step(59_999).kind).toBe('wait');
    expect(one.take(woke(60_000), found(60_000, lease('old', '7', 60_000))).step(60_000).kind).toBe('write');
  });

  it('begins to wait anew with each renewal that it sees', () => {
    const one = new Contestant().take(found(0, lease('old', '7')), woke(2000), found(14_000, lease('old', '8')));
    one.take(woke(16_000), found(28_999, lease('old', '8')));
    expect(one.step(28_999).kind).toBe('wait');
    expect(standsBy(one.state, rules, 28_999)).toBe(true);
    expect(standsBy(one.state, rules, 29_000)).toBe(false);
  });

  it('takes a lease at once that was given back', () => {
    expect(new Contestant().take(found(0, lease(undefined, '7'))).step(0)).toMatchObject({ kind: 'write', version: '7' });
  });

  it('does not take a lease that somebody deletes while its holder still may lead', () => {
    const one = new Contestant().take(found(0, lease('old', '7')), woke(2000), read(2000, { kind: 'gone' }));
    expect(one.step(2000).kind).toBe('wait');
    one.take(woke(15_000), read(15_000, { kind: 'gone' }));
    expect(one.step(15_000)).toMatchObject({ kind: 'write', version: undefined, record: { transitions: 4 } });
  });

  it('stands by when another one was faster', () => {
    const one = new Contestant().take(read(0, { kind: 'gone' })).write(0, 10, { kind: 'conflict' });
    expect(leads(one.state, 10)).toBe(false);
    expect(one.take(woke(2010), found(2020, lease('other', '1'))).step(2020)).toEqual({ kind: 'wait', ms: 2000 });
  });

  it('goes on with its own lease when the answer to its write was lost', () => {
    const one = new Contestant().take(read(0, { kind: 'gone' })).write(0, 5000, away);
    expect(leads(one.state, 5000)).toBe(false);
    one.take(woke(7000), found(7010, lease('me', '1')));
    expect(one.step(7010)).toMatchObject({ kind: 'write', version: '1', record: { transitions: 3 } });
    expect(leads(one.write(7010, 7020, applied('2')).state, 7020)).toBe(true);
  });

  it('does not lead by an answer that came after the deadline which it would give', () => {
    const one = new Contestant().take(read(0, { kind: 'gone' })).write(0, 10_000, applied('1'));
    expect(one.state.kind).toBe('standby');
    expect(one.step(10_000)).toEqual({ kind: 'read' });
  });

  it('renews each period, from the moment at which a renewal was sent', () => {
    const one = leader();
    expect(one.step(10)).toEqual({ kind: 'wait', ms: 2000 });
    one.take(woke(2010));
    expect(one.step(2010)).toMatchObject({ kind: 'write', version: '1' });
    one.write(2010, 6000, applied('2'));
    expect([leads(one.state, 12_009), leads(one.state, 12_010)]).toEqual([true, false]);
  });

  it('ends when the API is away for longer than the deadline, at the deadline', () => {
    const one = leader();
    for (let atMs = 2010; atMs < 9000; atMs += 2000) one.take(woke(atMs)).write(atMs, atMs, away);
    expect(one.step(8010)).toEqual({ kind: 'wait', ms: 1990 });
    expect(leads(one.state, 9_999)).toBe(true);
    one.take(woke(10_000));
    expect(one.state).toEqual({ kind: 'over', ending: { kind: 'late', trouble: 'connection refused' } });
    expect(one.step(10_000)).toEqual({ kind: 'end' });
  });

  it('goes on when the API comes back in time', () => {
    const one = leader().take(woke(2010)).write(2010, 7010, away).take(woke(9010)).write(9010, 9020, applied('2'));
    expect(leads(one.state, 19_000)).toBe(true);
    expect(one.state).not.toHaveProperty('trouble');
  });

  it('ends after a pause beyond the deadline, also when a renewal succeeds that was sent before', () => {
    const one = leader().take(woke(2010)).write(2010, 62_010, applied('2'));
    expect(one.state).toEqual({ kind: 'over', ending: { kind: 'late', trouble: 'this process was held up' } });
  });

  it('ends at once when its lease was stolen', () => {
    const one = leader()
      .take(woke(2010))
      .write(2010, 2020, { kind: 'conflict' })
      .take(found(2030, lease('thief', '9')));
    expect(one.state).toEqual({ kind: 'over', ending: { kind: 'taken', by: 'thief' } });
  });

  it('goes on when somebody only annotated the Lease', () => {
    const one = leader()
      .take(woke(2010))
      .write(2010, 2020, { kind: 'conflict' })
      .take(found(2030, lease('me', '9')));
    expect(one.step(2030)).toMatchObject({ kind: 'write', version: '9', record: { transitions: 0 } });
    expect(leads(one.write(2030, 2040, applied('10')).state, 12_029)).toBe(true);
  });

  it('makes its Lease again when somebody deletes it', () => {
    const one = leader().take(woke(2010)).write(2010, 2020, { kind: 'gone' });
    expect(one.step(2020)).toMatchObject({ kind: 'write', version: undefined });
    one.write(2020, 2030, { kind: 'conflict' }).take(found(2040, lease('quicker', '1')));
    expect(one.state).toEqual({ kind: 'over', ending: { kind: 'taken', by: 'quicker' } });
  });

  it('waits as long as a server asks that throttles', () => {
    const one = new Contestant().take(read(0, { kind: 'throttled', afterMs: 7000 }));
    expect(one.step(0)).toEqual({ kind: 'wait', ms: 7000 });
  });

  it('never leads again', () => {
    const one = leader().take(woke(10_000));
    for (const event of [read(11_000, { kind: 'gone' }), found(12_000, lease('me', '1')), woke(13_000)]) one.take(event);
    expect(one.step(14_000)).toEqual({ kind: 'end' });
    expect(leader().take({ kind: 'released' }).state).toEqual({ kind: 'over', ending: { kind: 'released' } });
  });
});
