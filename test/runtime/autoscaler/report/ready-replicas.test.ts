import { readyReplicas } from '../../../../runtime/autoscaler/report/ready-replicas';
import { readyPod } from '../../../helpers/fake-autoscaler-cluster';

const unready = { status: { conditions: [{ type: 'Ready', status: 'False' as const }] } };
const entry = (group: string, role: string) => ({
  'modelserving.volcano.sh/name': 'ms',
  'modelserving.volcano.sh/group-name': group,
  'modelserving.volcano.sh/role-id': `${group}-${role}`,
});

describe('replicas that serve', () => {
  it('are ready pods of a Deployment, each for itself', () => {
    const going = readyPod('c', {}, '127.0.0.3');
    const metadata = { ...going.metadata, deletionTimestamp: '2026-12-01T00:00:00Z' };
    const pods = [readyPod('a', {}, '127.0.0.1'), readyPod('b', {}, '127.0.0.2', unready), { ...going, metadata }];
    expect(readyReplicas(pods, undefined)).toBe(1);
  });

  it('are groups of a ModelServing that have no unready entry pod, and instances of a role', () => {
    const pods = [
      readyPod('a', entry('g0', 'prefill'), '127.0.0.1'),
      readyPod('b', entry('g0', 'decode'), '127.0.0.2', unready),
      readyPod('c', entry('g1', 'prefill'), '127.0.0.3'),
      readyPod('d', entry('g1', 'decode'), '127.0.0.4'),
    ];
    expect(readyReplicas(pods, undefined)).toBe(1);
    expect(readyReplicas([pods[0]!, pods[2]!], 'prefill')).toBe(2);
    expect(readyReplicas([pods[1]!, pods[3]!], 'decode')).toBe(1);
  });

  it('are none where there are no pods', () => {
    expect(readyReplicas([], undefined)).toBe(0);
  });
});
