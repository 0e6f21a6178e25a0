import { foreignScalers } from '../../../../runtime/autoscaler/observe/foreign-scalers';
import type { KubeObject } from '../../../../src/api/meta';
import { FakeAutoscalerCluster } from '../../../helpers/fake-autoscaler-cluster';

const scalersOf = (...objects: readonly KubeObject[]) => foreignScalers(new FakeAutoscalerCluster().put(...objects).objects);

const manager = (args: readonly string[], more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'kthena-controller-manager', namespace: 'kthena-system' },
  spec: {
    template: {
      spec: { containers: [{ name: 'manager', image: 'ghcr.io/volcano-sh/kthena-controller-manager:latest', args }] },
    },
    ...more,
  },
});

describe('who else scales', () => {
  it('is who owns a HorizontalPodAutoscaler', () => {
    const hpa = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: {
        name: 'keda-hpa-chat',
        ownerReferences: [{ apiVersion: 'keda.sh/v1alpha1', kind: 'ScaledObject', name: 'chat', uid: 'u', controller: true }],
      },
      spec: { scaleTargetRef: { kind: 'Deployment', name: 'chat' } },
    };
    const target = { kind: 'Deployment', namespace: 'default', name: 'chat' };
    expect(scalersOf(hpa)).toEqual([{ name: 'ScaledObject default/chat', target }]);
    const aimless = { ...hpa, spec: {} };
    expect(scalersOf(aimless)).toEqual([]);
  });

  it.each([
    [['--v=2'], true],
    [['--controllers=*'], true],
    [['--controllers=modelserving,autoscaler'], true],
    [['--controllers', '+autoscaler'], true],
    [['--controllers=-modelbooster'], true],
    [['--controllers=*,-autoscaler'], false],
    [['--controllers=-autoscaler'], false],
    [['--controllers=modelserving,modelbooster'], false],
    [['--controllers', '-autoscaler'], false],
  ])("is Kthena's manager with %j: %s", (args, runs) => {
    const name = 'Deployment kthena-system/kthena-controller-manager';
    expect(scalersOf(manager(args))).toEqual(runs ? [{ name, target: 'every policy' }] : []);
  });

  it("is not Kthena's manager without replicas, nor another Deployment", () => {
    expect(scalersOf(manager([], { replicas: 0 }))).toEqual([]);
    const other = { spec: { containers: [{ name: 'c', image: 'ghcr.io/volcano-sh/kthena-router:latest' }] } };
    expect(scalersOf(manager([], { template: other }))).toEqual([]);
  });
});
