import { leaseObject, readLeaseObject } from '../../../../runtime/cluster/election/lease-record';

const place = { namespace: 'kvasir-system', name: 'kvasir-autoscaler' };
const record = { holder: 'a', durationMs: 15_000, transitions: 2, acquiredMs: Date.parse('2026-12-01T00:00:00Z') };

describe('the Lease of an election', () => {
  it('is written as other clients of Leases write theirs', () => {
    expect(leaseObject(place, record, '7', Date.parse('2026-12-01T00:01:00.250Z'))).toEqual({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { ...place, resourceVersion: '7' },
      spec: {
        holderIdentity: 'a',
        leaseDurationSeconds: 15,
        leaseTransitions: 2,
        acquireTime: '2026-12-01T00:00:00.000000Z',
        renewTime: '2026-12-01T00:01:00.250000Z',
      },
    });
  });

  it('promises whole seconds, never fewer than its holder goes by', () => {
    expect(leaseObject(place, { ...record, durationMs: 2_400 }, undefined, 0).spec?.leaseDurationSeconds).toBe(3);
  });

  it('is read as it was written', () => {
    const { metadata, ...rest } = leaseObject(place, record, '7', 0);
    expect(readLeaseObject({ ...rest, metadata }, 1)).toEqual({ ...record, version: '7' });
  });

  it('of another client may say less: nobody holds it, for as long as this one would', () => {
    const read = readLeaseObject({ apiVersion: 'v1', kind: 'Lease', metadata: { ...place, resourceVersion: '1' } }, 15_000);
    expect(read).toEqual({ holder: undefined, durationMs: 15_000, transitions: 0, acquiredMs: 0, version: '1' });
  });
});
