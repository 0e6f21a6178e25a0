import { ObjectCache } from '../../../../runtime/cluster/kubernetes/object-cache';
import { refOf } from '../../../../runtime/cluster/object-source';
import type { KubeObject } from '../../../../src/api/meta';
import { serverFor } from '../../../helpers/workload-objects';

const named = (uid: string, resourceVersion: string, spec: object = {}): KubeObject => {
  const server = serverFor('chat', spec);
  return { ...server, metadata: { ...server.metadata, uid, resourceVersion } };
};
const ref = refOf(serverFor('chat'));

describe('what was heard of a cluster', () => {
  it('is decoded with defaults, without the bookkeeping of field managers', () => {
    const cache = new ObjectCache(() => undefined);
    const object = named('u', '1');
    cache.put({ ...object, metadata: { ...object.metadata, ...{ managedFields: [{ manager: 'kubectl' }] } } });
    expect(cache.get(ref)).toMatchObject({ spec: { workloadPort: { protocol: 'http' } } });
    expect(cache.get(ref)!.metadata).not.toHaveProperty('managedFields');
  });

  it('keeps the last good version of an object that another tool wrote past our rules', () => {
    const findings: string[] = [];
    const cache = new ObjectCache(({ field }) => findings.push(field ?? ''));
    cache.put(named('u', '1'));
    cache.put(named('u', '2', { inferenceEngine: 'steam' }));
    expect(cache.get(ref)!.metadata.resourceVersion).toBe('1');
    expect(findings).toEqual(['spec.inferenceEngine']);
    // Another object of that name is not the one that was good.
    cache.put(named('v', '3', { inferenceEngine: 'steam' }));
    expect(cache.get(ref)).toBeUndefined();
  });

  it('tells of a version once, however often it comes', () => {
    const cache = new ObjectCache(() => undefined);
    const told: string[] = [];
    cache.listen((object, change) => told.push(`${change} ${object.metadata.resourceVersion}`));
    cache.put(named('u', '1'));
    cache.put(named('u', '1'));
    cache.put(named('u', '2'));
    cache.remove(ref);
    cache.remove(ref);
    expect(told).toEqual(['put 1', 'put 2', 'removed 2']);
  });
});
