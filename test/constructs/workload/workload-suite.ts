import { Chart, Testing } from 'cdk8s';
import { Construct } from 'constructs';
import { Rollout } from '../../../constructs';
import { synth } from '../../../constructs/testing';
import type { PodTemplate } from '../../../constructs/workload/pod-template';
import type { ServingGroupSpec, WorkloadEngine } from '../../../constructs/workload/workload';

const template: PodTemplate = {
  metadata: { labels: { app: 'g', team: 't' }, annotations: { note: 'n' } },
  spec: {
    containers: [
      { name: 'engine', image: 'e:1', resources: { limits: { 'nvidia.com/gpu': '8' }, requests: { 'nvidia.com/gpu': '8' } } },
    ],
    terminationGracePeriodSeconds: 77,
  },
};

/** A serving group that every engine can express. */
export function simpleGroup(change: Partial<ServingGroupSpec> = {}): ServingGroupSpec {
  return {
    name: 'g',
    labels: { app: 'g', team: 't' },
    selector: { app: 'g' },
    replicas: () => 3,
    podsPerReplica: 1,
    rollout: Rollout.inPlace(1),
    startupBudgetSeconds: 900,
    template: () => template,
    ...change,
  };
}

/** What every workload engine must do with a serving group. */
export function workloadSuite(engine: WorkloadEngine): void {
  const create = (group: ServingGroupSpec) => {
    const chart = new Chart(Testing.app(), 'c', { namespace: 'llm' });
    const scope = new Construct(chart, 'group');
    const workload = engine.create(scope, group);
    return { scope, workload, object: synth(chart).get(workload.scaleTarget.kind, workload.scaleTarget.name) };
  };

  describe(`a serving group as ${engine.name}`, () => {
    it('is the default child of its construct, under its name and labels, in the namespace of the chart', () => {
      const { scope, workload, object } = create(simpleGroup());
      expect(scope.node.defaultChild).toBe(workload.resource);
      expect(object.metadata).toMatchObject({ name: 'g', namespace: 'llm', labels: { app: 'g', team: 't' } });
    });

    it('tells a scaler where its /scale is', () => {
      const { workload, object } = create(simpleGroup());
      expect(workload.scaleTarget).toEqual({ apiVersion: object.apiVersion, kind: object.kind, name: 'g' });
    });

    it('writes the replicas, and none when a scaler owns them', () => {
      expect(create(simpleGroup()).object.spec).toHaveProperty('replicas', 3);
      expect(create(simpleGroup({ replicas: () => undefined })).object.spec).not.toHaveProperty('replicas');
    });

    it('writes the pods as they are given, when synth asks for them', () => {
      const late = structuredClone(template) as { spec: { priorityClassName?: string } };
      const chart = new Chart(Testing.app(), 'c');
      engine.create(new Construct(chart, 'group'), simpleGroup({ template: () => late as unknown as PodTemplate }));
      late.spec.priorityClassName = 'late';
      expect(JSON.stringify(synth(chart).all)).toContain('"priorityClassName":"late"');
      expect(JSON.stringify(create(simpleGroup()).object.spec)).toContain('"terminationGracePeriodSeconds":77');
    });

    it('says that it can express a simple group', () => {
      expect(engine.limits(simpleGroup())).toEqual([]);
    });
  });
}
