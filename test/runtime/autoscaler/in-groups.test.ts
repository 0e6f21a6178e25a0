import { inGroups } from '../../../runtime/autoscaler/in-groups';
import { readPolicies } from '../../../runtime/autoscaler/read-policies';
import { policyOf } from '../../helpers/autoscaler-rig';

const config = { algorithm: 'default', allowCrossNamespaceTargets: false, metricWindowMs: 60_000 } as const;

function rolesOf(
  minReplicas: number,
  maxReplicas: number,
  groups: number,
  { per, metadata = {} }: { per?: string; metadata?: object } = {},
): { readonly bounds?: readonly (readonly [number, number])[]; readonly groups?: number; readonly message?: string } {
  const role = { minReplicas, maxReplicas, metricSources: { running: { pod: {} } } };
  const policy = policyOf('p', {
    metadata,
    spec: {
      metrics: [{ name: 'running', targetValue: 10 }],
      disaggregatedTarget: { targetRef: { kind: 'ModelServing', name: 'pd' }, roles: { decode: role }, ...(per && { per }) },
    },
  });
  const { policies, unusable } = inGroups(readPolicies([policy], [], config), () => groups);
  if (policies.length === 0) return { message: unusable[0]!.message };
  const { spec, units } = policies[0]!;
  const roles = spec.target.kind === 'disaggregated' ? spec.target.roles : [];
  return { bounds: roles.map(({ min, max }) => [min, max] as const), ...(units[0]!.groups && { groups: units[0]!.groups }) };
}

describe('bounds of roles', () => {
  it.each([
    [2, 8, 1, [2, 8]],
    [2, 8, 0, [2, 8]],
    [2, 8, 2, [1, 4]],
    [3, 9, 2, [2, 4]],
    [3, 3, 2, [1, 1]],
    [0, 4, 4, [0, 1]],
  ])('of %d to %d in %d groups are %j in each', (min, max, groups, expected) => {
    expect(rolesOf(min, max, groups).bounds).toEqual([expected]);
  });

  it('are those of each group when that is said, and under algorithm kthena', () => {
    expect(rolesOf(2, 8, 4, { per: 'group' })).toEqual({ bounds: [[2, 8]] });
    const annotations = { 'kvasir.dev/autoscaler-algorithm': 'kthena' };
    expect(rolesOf(2, 8, 4, { metadata: { annotations } })).toEqual({ bounds: [[2, 8]] });
  });

  it('of fewer replicas than groups are refused', () => {
    expect(rolesOf(1, 3, 4).message).toBe(
      'maxReplicas of role decode is 3, fewer than the 4 serving groups of ModelServing default/pd; raise it, or say per: group where it is meant for each group',
    );
  });
});
