import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import type { PlaceRecord } from '../../../../runtime/router/cache/replication/place-record';
import { type ResponseOwner, ResponseOwners } from '../../../../runtime/router/responses/response-owners';

const owner = (tenant?: string): ResponseOwner => ({
  ...{ model: 'm', tenant, route: 'default/route', target: 'server s', isAdapter: false, endpointId: 'pod' },
});

describe('who made a response', () => {
  let clock: VirtualClock;
  let told: PlaceRecord[];
  const open = (maxEntries = 100): ResponseOwners => {
    const owners = new ResponseOwners(clock, { maxEntries, ttlMs: 1_000 });
    owners.share((record) => told.push(record));
    return owners;
  };

  beforeEach(() => {
    clock = new VirtualClock();
    clock.advance(1);
    told = [];
  });

  it('is told to siblings when it is made, used and deleted, and not when a sibling told it', () => {
    const [a, b] = [open(), open()];
    a.note('r', owner('red'));
    for (const record of told.splice(0)) b.take(record);
    expect(told).toEqual([]);
    expect(b.find('r', 'red')).toEqual(owner('red'));
    expect(told.splice(0)).toEqual([expect.objectContaining({ kind: 'response', id: 'r', ttlMs: 1_000 })]);
    b.forget('r');
    for (const record of told) a.take(record);
    expect(a.find('r', 'red')).toBeUndefined();
  });

  it('is remembered until its last use at any router is too long ago', () => {
    const [a, b] = [open(), open()];
    a.note('r', owner());
    for (const record of told.splice(0)) b.take(record);
    clock.advance(900);
    a.find('r', undefined);
    for (const record of told) b.take(record);
    clock.advance(900);
    expect(b.find('r', undefined)).toBeDefined();
    clock.advance(1_001);
    expect(b.find('r', undefined)).toBeUndefined();
  });

  it('is told to a newcomer with the time that is left of it, and lives as long as any other after its next use', () => {
    const [a, b] = [open(), open()];
    a.note('old', owner());
    clock.advance(600);
    a.note('new', owner());
    const recent = [...a.recent()];
    expect(recent.map((record) => record.kind === 'response' && [record.id, record.ttlMs])).toEqual([
      ['new', 1_000],
      ['old', 400],
    ]);
    for (const record of recent) b.take(record);
    clock.advance(399);
    expect(b.find('old', undefined)).toBeDefined();
    clock.advance(900);
    expect(b.find('old', undefined)).toBeDefined();
    expect(b.find('new', undefined)).toBeUndefined();
  });

  it('stays with who had the id first, whatever a sibling says', () => {
    const owners = open();
    owners.note('r', owner('red'));
    owners.take({ kind: 'response', id: 'r', ttlMs: 1_000, ...owner('blue'), tenant: 'blue', endpoint: 'other' });
    expect(owners.find('r', 'blue')).toBeUndefined();
    expect(owners.find('r', 'red')).toEqual(owner('red'));
  });

  it('is waited for where it is not known, until it is or 50 ms are over', async () => {
    const owners = open();
    owners.note('known', owner());
    expect(owners.news('known')).toBeUndefined();
    const heard: string[] = [];
    void owners.news('soon')!.then(() => heard.push('soon'));
    void owners.news('never')!.then(() => heard.push('never'));
    clock.advance(10);
    owners.take({ kind: 'response', id: 'soon', ttlMs: 1_000, ...owner(), endpoint: 'pod' });
    await Promise.resolve();
    expect(heard).toEqual(['soon']);
    clock.advance(39);
    await Promise.resolve();
    expect(heard).toEqual(['soon']);
    clock.advance(1);
    await Promise.resolve();
    expect(heard).toEqual(['soon', 'never']);
  });

  it('is not waited for by a router that has no siblings', () => {
    expect(new ResponseOwners(clock, { maxEntries: 1, ttlMs: 1 }).news('r')).toBeUndefined();
  });
});
