import { Chart, Testing } from 'cdk8s';
import { Rollout } from '../../../constructs';
import { synth } from '../../../constructs/testing';
import { leaderWorkerSetEngine } from '../../../constructs/workload/leader-worker-set';
import { definitionProblems } from '../../helpers/definition-problems';
import { loneEngine, simpleGroup, workloadSuite } from './workload-suite';

workloadSuite(loneEngine(leaderWorkerSetEngine, 16, definitionProblems));

function specOf(change: Parameters<typeof simpleGroup>[0]) {
  const chart = new Chart(Testing.app(), 'c');
  leaderWorkerSetEngine.create(chart, simpleGroup(change));
  return synth(chart).get('LeaderWorkerSet', 'g').spec;
}

describe('a LeaderWorkerSet', () => {
  it('writes every default of its webhook, so that a second sync shows no difference', () => {
    expect(specOf({ podsPerReplica: 2 })).toMatchObject({
      startupPolicy: 'LeaderCreated',
      networkConfig: { subdomainPolicy: 'Shared' },
      rolloutStrategy: {
        type: 'RollingUpdate',
        rollingUpdateConfiguration: { maxSurge: 0, maxUnavailable: 1, partition: 0 },
      },
      leaderWorkerTemplate: { size: 2, restartPolicy: 'RecreateGroupOnPodRestart' },
    });
  });

  it('rolls out by surge and holds replicas back, recovers single pods when told so', () => {
    expect(specOf({ rollout: Rollout.surge(2, { partition: 1 }), recovery: 'pod' })).toMatchObject({
      rolloutStrategy: { rollingUpdateConfiguration: { maxSurge: 2, maxUnavailable: 0, partition: 1 } },
      leaderWorkerTemplate: { restartPolicy: 'None' },
    });
  });

  it('gives single-pod replicas no template of their own for leaders', () => {
    expect((specOf({}) as { leaderWorkerTemplate: object }).leaderWorkerTemplate).not.toHaveProperty('leaderTemplate');
  });

  it.each([
    ['gang.topology', { scheduler: 'volcano', topology: {} }, 'ModelServing'],
    ['gang.scheduler', { scheduler: 'coscheduling' }, { remedy: "use scheduler: 'volcano'" }],
  ] as const)('cannot do %s with several pods in a replica', (field, gang, instead) => {
    const [limit] = leaderWorkerSetEngine.limits(simpleGroup({ podsPerReplica: 2, gang }));
    expect(limit!.what.split(' ')[0]).toBe(field);
    expect(limit!.instead).toEqual(instead);
  });

  it('refuses a name that leaves its StatefulSets no room for a revision', () => {
    expect(leaderWorkerSetEngine.limits(simpleGroup({ name: 'n'.repeat(47) }))).toEqual([]);
    expect(leaderWorkerSetEngine.limits(simpleGroup({ name: 'n'.repeat(48) }))).toHaveLength(1);
  });
});
