import { Chart } from 'cdk8s';
import {
  Accelerator,
  Autoscaler,
  Cluster,
  Engine,
  GitOpsApp,
  ModelSource,
  RoleSet,
  type RoleSetProps,
  Rollout,
  ServingGroup,
} from '../../../constructs';
import { synth } from '../../../constructs/testing';
import { disaggregatedSetRoles } from '../../../constructs/workload/disaggregated-set';
import { modelServingRoles } from '../../../constructs/workload/model-serving-roles';
import type { RoleEngine, RoleSetSpec } from '../../../constructs/workload/role-engine';
import { definitionProblems } from '../../helpers/definition-problems';
import { type EngineUnderTest, podTemplate, simpleGroup, workloadSuite } from './workload-suite';

/** A role of a set, beside another one, as an engine of one group. */
function roleOf(engine: RoleEngine, scaleTarget?: EngineUnderTest['scaleTarget']): EngineUnderTest {
  const other = simpleGroup({
    name: 'other',
    minReplicas: 1,
    replicas: () => 1,
    template: () => ({ ...podTemplate('leader'), metadata: { labels: { app: 'other' }, annotations: {} } }),
  });
  const setOf = (group: ReturnType<typeof simpleGroup>): RoleSetSpec => ({
    name: 'pd',
    labels: { team: 't' },
    copies: 1,
    gang: group.gang,
    roles: () => [
      { role: 'decode', group },
      { role: 'prefill', group: other },
    ],
  });
  const rolesOf = (spec: Readonly<Record<string, unknown>>) =>
    (engine.name === 'ModelServing' ? (spec.template as { roles: unknown }).roles : spec.roles) as readonly Readonly<
      Record<string, unknown>
    >[];
  return {
    name: engine.name,
    objectName: 'pd',
    ...(scaleTarget === undefined ? {} : { scaleTarget }),
    mostPods: 16,
    limits: (group) => engine.limits(setOf(group)),
    create: (scope, group) => engine.workloadOf(engine.create(scope, setOf(group)), setOf(group), 'decode', group),
    replicasOf: (spec) => {
      const [decode] = rolesOf(spec);
      return engine.name === 'ModelServing' ? decode!.replicas : (decode!.spec as { replicas?: number }).replicas;
    },
    problems: definitionProblems,
  };
}

workloadSuite(
  roleOf(disaggregatedSetRoles, {
    apiVersion: 'disaggregatedset.x-k8s.io/v1',
    kind: 'DisaggregatedSetRoleScaler',
    name: 'pd-decode',
  }),
);
workloadSuite(roleOf(modelServingRoles));

const cluster = Cluster.of({ leaderWorkerSet: { gang: 'volcano' }, volcano: true });
const kthena = Cluster.of({ kthena: 'workload', volcano: true });

function pair(props: RoleSetProps, on: Cluster, change: Partial<ConstructorParameters<typeof ServingGroup>[2]> = {}) {
  const app = new GitOpsApp({ cluster: on, outdir: 'unused', report: () => undefined });
  const chart = new Chart(app, 'llm', { namespace: 'llm' });
  const set = new RoleSet(chart, 'pd', props);
  const groups = ['prefill', 'decode'].map(
    (role) =>
      new ServingGroup(chart, `pd-${role}`, {
        source: ModelSource.huggingFace('Qwen/Qwen3-8B'),
        engine: Engine.vllm('0.32.0'),
        accelerator: Accelerator.H100_SXM_80GB,
        replicas: 2,
        memberOf: { set, role },
        ...change,
      }),
  );
  return { app, chart, set, groups };
}

describe('groups that live together', () => {
  it('are the roles of one DisaggregatedSet, in the order in which they joined', () => {
    const { chart, set } = pair({ workload: 'DisaggregatedSet', copies: 3 }, cluster);
    const objects = synth(chart);
    const object = objects.get('DisaggregatedSet', 'pd');
    expect(object.spec).toMatchObject({
      slices: 3,
      roles: [
        { name: 'prefill', scaling: { mode: 'Static' }, spec: { replicas: 2, leaderWorkerTemplate: { size: 1 } } },
        { name: 'decode', scaling: { mode: 'Static' } },
      ],
    });
    expect(definitionProblems(object)).toEqual([]);
    expect(objects.ofKind('Deployment')).toEqual([]);
    expect(set.copyLabel).toBe('disaggregatedset.x-k8s.io/slice');
  });

  it('are found by labels that the DisaggregatedSet controller sets, since it overwrites app', () => {
    const { chart, groups } = pair({ workload: 'DisaggregatedSet' }, cluster);
    expect(groups[1]!.podSelector).toEqual({
      'disaggregatedset.x-k8s.io/name': 'pd',
      'disaggregatedset.x-k8s.io/role': 'decode',
    });
    const budget = synth(chart).get('PodDisruptionBudget', 'pd-decode').spec as { selector: object };
    expect(budget.selector).toEqual({ matchLabels: groups[1]!.podSelector });
  });

  it('are the roles of one ModelServing, with as many of each in the gang as there are at least', () => {
    const { chart } = pair({ workload: 'ModelServing', copies: 2, gang: { scheduler: 'volcano', queue: 'q' } }, kthena);
    const object = synth(chart).get('ModelServing', 'pd');
    expect(object.spec).toMatchObject({
      replicas: 2,
      schedulerName: 'volcano',
      rolloutStrategy: { type: 'RoleRollingUpdate' },
      template: { gangPolicy: { minRoleReplicas: { prefill: 2, decode: 2 } }, roles: [{ name: 'prefill' }, { name: 'decode' }] },
    });
    expect(definitionProblems(object)).toEqual([]);
  });

  it.each([
    ['a DisaggregatedSet without its controller', { workload: 'DisaggregatedSet' }, kthenaless(), 'cluster/no-leader-worker-set'],
    ['a ModelServing without Kthena', { workload: 'ModelServing' }, kthenaless(), 'cluster/no-model-serving'],
    [
      'a gang without Volcano',
      { workload: 'ModelServing', gang: { scheduler: 'volcano' } },
      Cluster.of({ kthena: 'workload' }),
      'cluster/no-volcano',
    ],
    [
      'nearness in a DisaggregatedSet',
      { workload: 'DisaggregatedSet', gang: { scheduler: 'volcano', topology: {} } },
      cluster,
      'workload/cannot-express',
    ],
  ] as const)('are refused as %s', (_, props, on, code) => {
    const { app } = pair(props, on);
    expect(
      app
        .check()
        .open.filter(({ severity }) => severity === 'error')
        .map((finding) => finding.code),
    ).toContain(code);
  });

  it.each([
    [true, 1],
    [false, 0],
  ])('may be scaled by the autoscaler where the cluster has their controller: %s', (leaderWorkerSet, count) => {
    const app = new GitOpsApp({ cluster: Cluster.of({ leaderWorkerSet }), outdir: 'unused', report: () => undefined });
    const chart = new Chart(app, 'system', { namespace: 'system' });
    new Autoscaler(chart, 'autoscaler', { image: 'registry.example.com/kvasir-autoscaler:0.1.0' });
    const rules = synth(chart)
      .ofKind('ClusterRole')
      .flatMap((each) => each.rules as readonly { readonly resources: readonly string[] }[]);
    expect(rules.filter(({ resources }) => resources.includes('disaggregatedsetrolescalers/scale'))).toHaveLength(count);
  });

  it('leave workload and gang to their set', () => {
    const { app } = pair({ workload: 'DisaggregatedSet' }, cluster, { gang: { scheduler: 'volcano' } });
    expect(app.check().open.map(({ code }) => code)).toContain('workload/role-option');
  });

  it.each([
    ['DisaggregatedSet', disaggregatedSetRoles, { rollout: Rollout.inPlace(1, { partition: 1 }) }, 'LeaderWorkerSet'],
    ['ModelServing', modelServingRoles, { rollout: Rollout.surge(1) }, 'Deployment'],
    ['ModelServing', modelServingRoles, { recovery: 'pod', podsPerReplica: 2 }, 'DisaggregatedSet'],
    ['ModelServing', modelServingRoles, { replicas: () => undefined, minReplicas: 0 }, 'DisaggregatedSet'],
  ] as const)('as a %s cannot do everything, and say who can', (_, engine, change, instead) => {
    const limits = engine.limits({
      name: 'pd',
      labels: {},
      copies: 1,
      gang: undefined,
      roles: () => [
        { role: 'a', group: simpleGroup(change) },
        { role: 'b', group: simpleGroup() },
      ],
    });
    expect(limits.map((limit) => limit.instead)).toContain(instead);
  });

  it('cannot be one alone in a DisaggregatedSet, nor at zero alone', () => {
    const limits = (...counts: readonly number[]) =>
      disaggregatedSetRoles
        .limits({
          name: 'pd',
          labels: {},
          copies: 1,
          gang: undefined,
          roles: () => counts.map((count, i) => ({ role: `r${i}`, group: simpleGroup({ replicas: () => count }) })),
        })
        .map(({ what }) => what);
    expect(limits(1)).toEqual(['roles are 1, fewer than 2']);
    expect(limits(1, 0)).toEqual(['replicas is 0 for r1 alone']);
    expect(limits(0, 0)).toEqual([]);
  });
});

function kthenaless(): Cluster {
  return Cluster.of({});
}
