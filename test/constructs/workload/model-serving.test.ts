import { Chart, Testing } from 'cdk8s';
import { Rollout } from '../../../constructs';
import { synth } from '../../../constructs/testing';
import { modelServingEngine } from '../../../constructs/workload/model-serving';
import { definitionProblems } from '../../helpers/definition-problems';
import { loneEngine, simpleGroup, workloadSuite } from './workload-suite';

workloadSuite(loneEngine(modelServingEngine, 16, definitionProblems));

function servingOf(change: Parameters<typeof simpleGroup>[0]) {
  const chart = new Chart(Testing.app(), 'c');
  modelServingEngine.create(chart, simpleGroup(change));
  return synth(chart).get('ModelServing', 'g');
}

describe('a ModelServing', () => {
  it('is scheduled by Kubernetes itself unless a gang asks for Volcano, which is the default of the kind', () => {
    expect(servingOf({}).spec.schedulerName).toBe('default-scheduler');
    expect(servingOf({ gang: { scheduler: 'volcano' } }).spec.schedulerName).toBe('volcano');
  });

  it('writes what shows as a difference for ever when left to the default', () => {
    expect(servingOf({}).spec.template.roles).toMatchObject([
      { name: 'leader', replicas: 1, workerReplicas: 0, maxUnavailable: 1 },
    ]);
  });

  it('takes queue and nearness of a gang, and holds replicas back', () => {
    const { metadata, spec } = servingOf({
      gang: { scheduler: 'volcano', queue: 'llm', topology: { mode: 'soft', highestTierAllowed: 2 } },
      rollout: Rollout.inPlace(2, { partition: 1 }),
    });
    expect(metadata.annotations).toMatchObject({ 'scheduling.volcano.sh/queue-name': 'llm' });
    expect(spec).toMatchObject({
      recoveryPolicy: 'ServingGroupRecreate',
      rolloutStrategy: {
        type: 'ServingGroupRollingUpdate',
        rollingUpdateConfiguration: { maxUnavailable: 2, partition: 1 },
      },
      template: { networkTopology: { groupPolicy: { mode: 'soft', highestTierAllowed: 2 } } },
    });
  });

  it.each([
    [1, 'Deployment'],
    [2, 'LeaderWorkerSet'],
  ] as const)('cannot surge, and for %i pods in a replica names %s', (podsPerReplica, instead) => {
    expect(modelServingEngine.limits(simpleGroup({ podsPerReplica, rollout: Rollout.surge(1) }))).toEqual([
      { what: 'rollout.surge is 1', instead },
    ]);
  });

  it('never has the recovery under which Kthena deletes a failed pod for good', () => {
    expect(modelServingEngine.limits(simpleGroup({ podsPerReplica: 2, recovery: 'pod' }))).toEqual([
      { what: 'recovery is pod', instead: 'LeaderWorkerSet' },
    ]);
    // The one pod is the replica.
    expect(modelServingEngine.limits(simpleGroup({ recovery: 'pod' }))).toEqual([]);
    expect(servingOf({ recovery: 'pod' }).spec.recoveryPolicy).toBe('ServingGroupRecreate');
  });

  it.each([
    [1, 'Deployment'],
    [2, 'LeaderWorkerSet'],
  ] as const)('does not begin at zero, and for %i pods in a replica names %s', (podsPerReplica, instead) => {
    expect(modelServingEngine.limits(simpleGroup({ podsPerReplica, replicas: () => 0, minReplicas: 0 }))).toEqual([
      { what: 'replicas is 0', instead },
    ]);
    expect(modelServingEngine.limits(simpleGroup({ podsPerReplica, replicas: () => undefined, minReplicas: 0 }))).toEqual([]);
  });
});
