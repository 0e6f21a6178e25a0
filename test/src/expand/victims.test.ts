import fc from 'fast-check';
import type { KubeObject } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import { expandWorkload, victims } from '../../../src/expand';

const COST = 'controller.kubernetes.io/pod-deletion-cost';
const template = { spec: { containers: [{ name: 'c' }] } };
const apps = (kind: string): KubeObject => {
  const object = { apiVersion: 'apps/v1', kind, metadata: { name: 'w' }, spec: { replicas: 4, template } };
  return object;
};

interface Facts {
  readonly cost?: string;
  readonly created?: string;
  readonly restarts?: number;
  readonly phase?: 'Pending' | 'Running';
  readonly isReady?: boolean;
}

function pod(name: string, { cost, created, restarts = 0, phase = 'Running', isReady = phase === 'Running' }: Facts = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, creationTimestamp: created, annotations: cost === undefined ? {} : { [COST]: cost } },
    spec: { containers: [] },
    status: {
      phase,
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
      containerStatuses: [{ name: 'c', ready: isReady, restartCount: restarts }],
    },
  };
}

const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);

describe('a Deployment that shrinks', () => {
  it.each<[string, Facts, Facts]>([
    ['a pending pod before a running one', { phase: 'Pending' }, { cost: '-9' }],
    ['one that is not ready before a ready one', { isReady: false }, { cost: '-9' }],
    ['the lower deletion cost', { cost: '1' }, { cost: '2' }],
    ['an absent cost, which is 0, before a positive one', {}, { cost: '5' }],
    ['a negative cost before an unreadable one, which is 0', { cost: '-1' }, { cost: 'cheap' }],
    ['more restarts', { restarts: 2 }, { restarts: 1 }],
    ['the newer', { created: '2026-01-02T00:00:00Z' }, { created: '2026-01-01T00:00:00Z' }],
  ])('removes %s', (_, goes, stays) => {
    const pods = [pod('stays', stays), pod('goes', goes)];
    expect(names(victims(apps('Deployment'), pods, 1))).toEqual(['goes']);
    expect(names(victims(apps('Deployment'), pods.toReversed(), 1))).toEqual(['goes']);
  });

  it('chooses the same pods in whatever order they are listed, and never one that is being deleted', () => {
    const facts = fc.record({ cost: fc.constantFrom('1', '2', 'x'), restarts: fc.nat(2), isReady: fc.boolean() });
    fc.assert(
      fc.property(fc.array(facts, { maxLength: 6 }), fc.nat(6), fc.boolean(), (all, count, isReversed) => {
        const pods = all.map((one, i) => pod(`p${i}`, one));
        const gone = { ...pod('gone', { cost: '-100' }), metadata: { name: 'gone', deletionTimestamp: '2026-01-01T00:00:00Z' } };
        const chosen = victims(apps('Deployment'), [...(isReversed ? pods.toReversed() : pods), gone], count);
        expect(names(chosen)).toEqual(names(victims(apps('Deployment'), pods, count)));
        expect(chosen).toHaveLength(Math.min(count, pods.length));
      }),
    );
  });
});

describe('a StatefulSet that shrinks', () => {
  it('removes the highest ordinals, whatever they cost', () => {
    const pods = [pod('w-10', { cost: '99' }), pod('w-9'), pod('w-2', { phase: 'Pending' })];
    expect(names(victims(apps('StatefulSet'), pods, 2))).toEqual(['w-10', 'w-9']);
  });
});

describe('a ModelServing that shrinks', () => {
  const roles = ['p', 'd'].map((name) => ({ name, workerReplicas: 0, entryTemplate: template }));
  const serving = (spec: object = {}): KubeObject => {
    const object = {
      apiVersion: 'workload.serving.volcano.sh/v1alpha1',
      kind: 'ModelServing',
      metadata: { name: 'ms' },
      spec: { replicas: 3, template: { roles }, ...spec },
    };
    return object;
  };
  const groups = (facts: Readonly<Record<string, Facts>> = {}) =>
    expandWorkload(serving())!.pods.map(({ pod: { metadata } }) => pod(metadata.name, facts[metadata.name]));

  it.each<[string, Record<string, Facts>, string]>([
    ['the highest ordinal', {}, 'ms-2'],
    ['a group that is not running', { 'ms-0-d-0-0': { phase: 'Pending' } }, 'ms-0'],
    [
      'the lowest sum of costs',
      { 'ms-0-p-0-0': { cost: '5' }, 'ms-1-d-0-0': { cost: '-3' }, 'ms-1-p-0-0': { cost: '1' } },
      'ms-1',
    ],
  ])('removes all pods of %s', (_, facts, group) => {
    expect(names(victims(serving(), groups(facts), 1))).toEqual([`${group}-p-0-0`, `${group}-d-0-0`]);
  });

  it('keeps groups below its partition while others are left', () => {
    const partitioned = serving({
      rolloutStrategy: { type: 'ServingGroupRollingUpdate', rollingUpdateConfiguration: { partition: 2 } },
    });
    const facts = { 'ms-0-p-0-0': { cost: '-100' } };
    expect(names(victims(partitioned, groups(facts), 2))).toEqual(['ms-2-p-0-0', 'ms-2-d-0-0', 'ms-0-p-0-0', 'ms-0-d-0-0']);
  });
});

describe('workloads of groups that shrink', () => {
  const spec = { leaderWorkerTemplate: { size: 2, workerTemplate: template } };
  const leaderWorker: KubeObject & { readonly spec: object } = {
    apiVersion: 'leaderworkerset.x-k8s.io/v1',
    kind: 'LeaderWorkerSet',
    metadata: { name: 'w' },
    spec: { ...spec, replicas: 3 },
  };
  const disaggregated: KubeObject & { readonly spec: object } = {
    apiVersion: 'disaggregatedset.x-k8s.io/v1',
    kind: 'DisaggregatedSet',
    metadata: { name: 'w' },
    spec: { slices: 2, roles: ['p', 'd'].map((name) => ({ name, spec: { ...spec, replicas: 1 } })) },
  };
  const podsOf = (workload: KubeObject) => expandWorkload(workload)!.pods.map(({ pod: made }) => made);

  it('a LeaderWorkerSet loses its highest groups as a whole, whatever their pods cost', () => {
    const pods = podsOf(leaderWorker).map((made) =>
      made.metadata.name === 'w-0' ? { ...made, metadata: { ...made.metadata, annotations: { [COST]: '-9' } } } : made,
    );
    expect(names(victims(leaderWorker, pods, 2))).toEqual(['w-2', 'w-2-1', 'w-1', 'w-1-1']);
  });

  it('a DisaggregatedSet loses whole slices, all roles of them', () => {
    const gone = victims(disaggregated, podsOf(disaggregated), 1);
    expect(gone).toHaveLength(4);
    expect(new Set(gone.map(({ metadata }) => metadata.labels!['disaggregatedset.x-k8s.io/slice']))).toEqual(new Set(['1']));
  });
});
