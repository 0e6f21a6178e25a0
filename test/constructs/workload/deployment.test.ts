import { Chart, Testing } from 'cdk8s';
import { Rollout } from '../../../constructs';
import { synth } from '../../../constructs/testing';
import { deploymentEngine } from '../../../constructs/workload/deployment';
import { coreObjectProblems } from '../../helpers/core-object-problems';
import { loneEngine, simpleGroup, workloadSuite } from './workload-suite';

workloadSuite(
  loneEngine(deploymentEngine, 1, (object) =>
    coreObjectProblems(object as { readonly apiVersion: string; readonly kind: string }),
  ),
);

describe('a Deployment', () => {
  it.each([
    ['in place, a surge of none', Rollout.inPlace(2), { maxSurge: 0, maxUnavailable: 2 }],
    ['by surge, none unavailable', Rollout.surge(1), { maxSurge: 1, maxUnavailable: 0 }],
  ])('rolls out %s', (_, rollout, rollingUpdate) => {
    const chart = new Chart(Testing.app(), 'c');
    deploymentEngine.create(chart, simpleGroup({ rollout }));
    expect(synth(chart).get('Deployment', 'g').spec).toMatchObject({
      strategy: { type: 'RollingUpdate', rollingUpdate },
      progressDeadlineSeconds: 900,
      selector: { matchLabels: { app: 'g' } },
    });
  });

  it('cannot have several pods in a replica or hold some back, and names who can', () => {
    expect(deploymentEngine.limits(simpleGroup({ podsPerReplica: 2, rollout: Rollout.inPlace(1, { partition: 3 }) }))).toEqual([
      { what: 'podsPerReplica is 2', instead: 'LeaderWorkerSet' },
      { what: 'rollout.partition is 3', instead: 'LeaderWorkerSet' },
    ]);
  });
});
