import { setImmediate as nextTurn } from 'node:timers/promises';
import { Election, type LeaseStore } from '../../../../runtime/cluster/election/election';
import type { LeaseRecord, ReadLease } from '../../../../runtime/cluster/election/lease-record';
import type { ReadOutcome, WriteOutcome } from '../../../../runtime/cluster/outcome';
import { createLogger, silentLogger } from '../../../../runtime/lib/logger';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { findingLine } from '../../../../src/errors';

/** A Lease in memory. Calls can be made to hang or fail. */
class MemoryStore implements LeaseStore {
  readonly name = 'kvasir-system/kvasir-autoscaler';
  readonly timeouts: number[] = [];
  lease: ReadLease | undefined;
  failure: Extract<WriteOutcome, { kind: 'unavailable' | 'forbidden' }> | undefined;
  private version = 1;

  async read(timeoutMs: number): Promise<ReadOutcome<ReadLease>> {
    this.timeouts.push(timeoutMs);
    if (this.failure !== undefined) return this.failure;
    return this.lease === undefined ? { kind: 'gone' } : { kind: 'found', value: this.lease };
  }

  async write(record: LeaseRecord, version: string | undefined, timeoutMs: number): Promise<WriteOutcome> {
    this.timeouts.push(timeoutMs);
    if (this.failure !== undefined) return this.failure;
    if (this.lease?.version !== version) return { kind: 'conflict' };
    this.lease = { ...record, version: String(this.version++) };
    return { kind: 'applied', version: this.lease.version };
  }
}

const times = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };
const clock = new VirtualClock(Date.parse('2026-12-01T00:00:00Z'));
const elections: Election[] = [];

function enter(store: LeaseStore, identity: string, log = silentLogger()): Election {
  const election = new Election({ rules: { identity, ...times }, store, clock, log });
  election.start();
  elections.push(election);
  return election;
}

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    clock.advance(500);
    await nextTurn();
  }
}

afterEach(async () => {
  const all = elections.splice(0).map((election) => election.release());
  await pass(1000);
  await Promise.all(all);
});

describe('taking part in an election', () => {
  it('leads, renews, and gives the lease back, so that the next one leads within a look', async () => {
    const store = new MemoryStore();
    const first = enter(store, 'a');
    await pass(500);
    const second = enter(store, 'b');
    await pass(60_000);
    expect([first.held(), first.epoch(), second.held(), second.epoch()]).toEqual([true, '0/a', false, undefined]);
    expect(second.standsBy()).toBe(true);
    await first.release();
    expect(first.held()).toBe(false);
    expect(store.lease).toMatchObject({ holder: undefined, transitions: 0 });
    await pass(2000);
    expect([second.held(), second.epoch()]).toEqual([true, '1/b']);
  });

  it('tells in one line that the API was away for too long, no later than at the deadline', async () => {
    const store = new MemoryStore();
    const only = enter(store, 'a');
    await pass(500);
    store.failure = { kind: 'unavailable', message: 'connect ECONNREFUSED 10.0.0.1:443' };
    await pass(10_500);
    expect(only.held()).toBe(false);
    expect(findingLine(await only.lost)).toBe(
      'Lease kvasir-system/kvasir-autoscaler: was not renewed within 10000 ms (connect ECONNREFUSED 10.0.0.1:443), so this process leads no more and ends; it stands by when it is started again; see that the API server answers [leader/late]',
    );
    store.failure = undefined;
    await pass(60_000);
    expect(only.held()).toBe(false);
  });

  it('tells who has taken the lease', async () => {
    const store = new MemoryStore();
    const only = enter(store, 'a');
    await pass(500);
    store.lease = { ...store.lease!, holder: 'thief', version: 'x' };
    await pass(2500);
    expect(findingLine(await only.lost)).toContain('thief leads now, so this process ends; it stands by');
  });

  it('concedes when somebody else was found to lead, and leaves the lease to run out', async () => {
    const store = new MemoryStore();
    const only = enter(store, 'a');
    await pass(500);
    const finding = { code: 'leader/superseded', severity: 'error', message: 'm', remedy: 'r' } as const;
    only.concede(finding);
    expect(only.held()).toBe(false);
    expect(await only.lost).toBe(finding);
    await pass(5000);
    expect(store.lease?.holder).toBe('a');
  });

  it('gives each call to the API half of the deadline, and a leader none beyond it', async () => {
    const store = new MemoryStore();
    enter(store, 'a');
    await pass(500);
    store.failure = { kind: 'unavailable', message: 'away' };
    await pass(9000);
    expect(store.timeouts.slice(0, 2)).toEqual([5000, 5000]);
    expect(store.timeouts.at(-1)).toBeLessThanOrEqual(2000);
  });

  it('says once what keeps it from the lease, and who leads', async () => {
    const lines: string[] = [];
    const log = createLogger('test', 'info', { write: (line) => lines.push(line) });
    const store = new MemoryStore();
    store.failure = { kind: 'forbidden', message: 'leases is forbidden' };
    enter(store, 'b', log);
    await pass(20_000);
    store.failure = undefined;
    store.lease = { holder: 'a', durationMs: 15_000, transitions: 0, acquiredMs: 0, version: 'x' };
    await pass(10_000);
    const told = lines.map((line) => JSON.parse(line) as { msg: string; trouble?: string; leader?: string });
    expect(told).toMatchObject([
      { msg: 'the lease cannot be read or written; trying again', trouble: 'leases is forbidden' },
      { msg: 'standing by', leader: 'a' },
    ]);
  });
});
