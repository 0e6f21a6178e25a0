import { Chart, Testing } from 'cdk8s';
import { Construct } from 'constructs';
import { Rollout } from '../../../constructs';
import { synth } from '../../../constructs/testing';
import type { PodTemplate } from '../../../constructs/workload/pod-template';
import type { ServingGroupSpec, Workload, WorkloadEngine } from '../../../constructs/workload/workload';
import { selects } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import { expandWorkload } from '../../../src/expand';

export const podTemplate = (place: string): PodTemplate => ({
  metadata: { labels: { app: 'g', team: 't', place }, annotations: { note: 'n' } },
  spec: {
    containers: [
      {
        name: 'engine',
        image: 'e:1',
        ports: [{ name: 'http', containerPort: 8000 }],
        readinessProbe: { httpGet: { path: '/health', port: 'http' } },
        resources: {
          limits: { 'nvidia.com/gpu': '8' },
          requests: { cpu: '500m', memory: '64Gi', 'nvidia.com/gpu': '8' },
        },
      },
    ],
    terminationGracePeriodSeconds: 77,
  },
});

/** A serving group that every engine can express. */
export function simpleGroup(change: Partial<ServingGroupSpec> = {}): ServingGroupSpec {
  return {
    name: 'g',
    labels: { app: 'g', team: 't' },
    replicas: () => 3,
    minReplicas: 3,
    podsPerReplica: 1,
    rollout: Rollout.inPlace(1),
    recovery: 'replica',
    startupBudgetSeconds: 900,
    gang: undefined,
    template: () => podTemplate('leader'),
    workerTemplate: () => podTemplate('worker'),
    ...change,
  };
}

/** An engine as the suite sees it; a role of a set of groups is one too. */
export interface EngineUnderTest {
  readonly name: WorkloadEngine['name'];
  /** Name of its main object. */
  readonly objectName: string;
  /** Its scale, where that is another object. */
  readonly scaleTarget?: Workload['scaleTarget'];
  /** Most pods that a replica may have. */
  readonly mostPods: number;
  limits(group: ServingGroupSpec): ReturnType<WorkloadEngine['limits']>;
  create(scope: Construct, group: ServingGroupSpec): Workload;
  /** Where the written replicas of the group stand. */
  replicasOf(spec: Readonly<Record<string, unknown>>): unknown;
  /** Problems that the kind's own schema finds. */
  problems(object: object): readonly string[];
}

/** An engine that makes one object of one group. */
export function loneEngine(engine: WorkloadEngine, mostPods: number, problems: EngineUnderTest['problems']): EngineUnderTest {
  return {
    name: engine.name,
    objectName: 'g',
    mostPods,
    limits: (group) => engine.limits(group),
    create: (scope, group) => engine.create(scope, group),
    replicasOf: (spec) => spec.replicas,
    problems,
  };
}

/** What every workload engine must do with a serving group. */
export function workloadSuite(engine: EngineUnderTest): void {
  const create = (group: ServingGroupSpec) => {
    const chart = new Chart(Testing.app(), 'c', { namespace: 'llm' });
    const scope = new Construct(chart, 'group');
    const workload = engine.create(scope, group);
    const object = synth(chart).get(workload.resource.kind, engine.objectName);
    return { scope, workload, object, spec: object.spec as Readonly<Record<string, unknown>> };
  };
  /** Pods as the engine's controller makes them. */
  const podsOf = (group: ServingGroupSpec) => {
    const { workload, object } = create(group);
    const pods: readonly Pod[] = expandWorkload(object)!.pods.map(({ pod }) => pod);
    return { workload, pods, own: pods.filter((pod) => selects({ matchLabels: workload.podSelector }, pod.metadata.labels)) };
  };

  describe(`a serving group as ${engine.name}`, () => {
    it('is the default child of its construct, under its name and labels, in the namespace of the chart', () => {
      const { scope, workload, object } = create(simpleGroup());
      expect(scope.node.defaultChild).toBe(workload.resource);
      expect(object.metadata).toMatchObject({ name: engine.objectName, namespace: 'llm', labels: { team: 't' } });
    });

    it('tells a scaler where its /scale is', () => {
      const { workload, object } = create(simpleGroup());
      const own = { apiVersion: object.apiVersion, kind: object.kind, name: engine.objectName };
      expect(workload.scaleTarget).toEqual(engine.scaleTarget ?? own);
    });

    it('writes the replicas, and none when a scaler owns them', () => {
      expect(engine.replicasOf(create(simpleGroup()).spec)).toBe(3);
      expect(engine.replicasOf(create(simpleGroup({ replicas: () => undefined })).spec)).toBeUndefined();
    });

    it('writes the pods as they are given, when synth asks for them', () => {
      const late = structuredClone(podTemplate('leader')) as { spec: { priorityClassName?: string } };
      const chart = new Chart(Testing.app(), 'c');
      engine.create(new Construct(chart, 'group'), simpleGroup({ template: () => late as unknown as PodTemplate }));
      late.spec.priorityClassName = 'late';
      expect(JSON.stringify(synth(chart).all)).toContain('"priorityClassName":"late"');
    });

    it.each(Array.from({ length: Math.min(engine.mostPods, 3) }, (_, i) => i + 1))(
      'has %i pods in a replica, of which one serves',
      (podsPerReplica) => {
        const { workload, own } = podsOf(simpleGroup({ podsPerReplica }));
        expect(own).toHaveLength(3 * podsPerReplica);
        const serving = own.filter((pod) => selects({ matchLabels: workload.servingSelector }, pod.metadata.labels));
        expect(serving).toHaveLength(3);
        expect(serving.map(({ metadata }) => metadata.labels!.place)).toEqual(['leader', 'leader', 'leader']);
        expect(own.filter((pod) => !serving.includes(pod)).every(({ metadata }) => metadata.labels!.place === 'worker')).toBe(
          true,
        );
      },
    );

    it('keeps labels, annotations, ports, probes and GPU requests equal to limits', () => {
      for (const { metadata, spec } of podsOf(simpleGroup({ podsPerReplica: engine.mostPods > 1 ? 2 : 1 })).own) {
        expect(metadata.labels).toMatchObject({ team: 't' });
        expect(metadata.annotations).toMatchObject({ note: 'n' });
        const [container] = spec.containers;
        expect(container).toMatchObject({
          ports: [{ name: 'http', containerPort: 8000, protocol: 'TCP' }],
          readinessProbe: { httpGet: { path: '/health', port: 'http' } },
          resources: { limits: { 'nvidia.com/gpu': '8' } },
        });
        expect(container!.resources!.requests!['nvidia.com/gpu']).toBe('8');
        expect(spec.terminationGracePeriodSeconds).toBe(77);
      }
    });

    it('has a budget that lets one replica lose pods, and no more', () => {
      for (let podsPerReplica = 1; podsPerReplica <= Math.min(engine.mostPods, 3); podsPerReplica++) {
        const { workload, own } = podsOf(simpleGroup({ podsPerReplica }));
        expect(evictionsAllowed(workload, own)).toBeGreaterThanOrEqual(1);
        expect(evictionsAllowed(workload, own)).toBeLessThanOrEqual(podsPerReplica);
      }
    });

    it('says that it can express a simple group, and what the schema of its kind demands', () => {
      expect(engine.limits(simpleGroup())).toEqual([]);
      expect(engine.problems(create(simpleGroup()).object)).toEqual([]);
      expect(engine.problems(create(simpleGroup({ podsPerReplica: engine.mostPods > 1 ? 2 : 1 })).object)).toEqual([]);
    });

    it.each([
      ['several pods per replica', { podsPerReplica: 2 }],
      ['a surge', { rollout: Rollout.surge(2) }],
      ['a partition', { rollout: Rollout.inPlace(1, { partition: 1 }) }],
      ['several replicas at once', { rollout: Rollout.inPlace(2) }],
      ['a queue', { gang: { scheduler: 'volcano', queue: 'q' } }],
      ['nearness', { gang: { scheduler: 'volcano', topology: { mode: 'hard', highestTierAllowed: 1 } } }],
      ['a gang of several replicas', { gang: { scheduler: 'volcano', minReplicas: 2 } }],
      ['another gang scheduler', { gang: { scheduler: 'coscheduling' } }],
    ] as const)('writes %s, or refuses and names who can', (_, change) => {
      const group = simpleGroup(change);
      const limits = engine.limits(group);
      const isWritten = JSON.stringify(create(group).spec) !== JSON.stringify(create(simpleGroup()).spec);
      const isAnnotated = JSON.stringify(create(group).object).includes('scheduling.volcano.sh/queue-name');
      // The gang of a Deployment is a PodGroup beside it, which the serving group makes.
      const isBeside = 'gang' in change && engine.name === 'Deployment';
      expect([limits.length > 0, isWritten || isAnnotated || isBeside]).toContain(true);
      for (const { what, instead } of limits) {
        expect(what).toMatch(/^[a-zA-Z.]+ /);
        expect(instead).not.toBe(engine.name);
      }
    });
  });
}

/** Evictions that Kubernetes' disruption controller allows of `pods`, all ready: it expects what the /scale of their owners says. */
function evictionsAllowed({ disruption }: Workload, pods: readonly Pod[]): number {
  if ('minAvailable' in disruption) return pods.length - disruption.minAvailable;
  const owners = new Map<string, number>();
  for (const { metadata } of pods) {
    const [owner] = metadata.ownerReferences!;
    const key = `${owner!.kind} ${owner!.name}`;
    // A ModelServing counts serving groups; the others count pods.
    owners.set(key, owner!.kind === 'ModelServing' ? 3 : (owners.get(key) ?? 0) + 1);
  }
  const expected = [...owners.values()].reduce((sum, count) => sum + count, 0);
  return pods.length - (expected - disruption.maxUnavailable);
}
