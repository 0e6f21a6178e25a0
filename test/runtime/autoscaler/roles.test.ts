import type { KubeObject } from '../../../src/api/meta';
import { POD_DELETION_COST } from '../../../src/expand/victims';
import { Annotations } from '../../../src/labels';
import { AutoscalerRig, policyOf, runningPage } from '../../helpers/autoscaler-rig';
import { readyPod } from '../../helpers/fake-autoscaler-cluster';
import { serverFor } from '../../helpers/workload-objects';

type Role = 'prefill' | 'decode';

let rig: AutoscalerRig;
let hosts: Map<string, string>;

beforeEach(async () => {
  rig = await AutoscalerRig.open({ drainTimeoutMs: 120_000 });
  hosts = new Map();
});

afterEach(() => rig.close());

const labels = (role: Role, group = 0, id = 0) => ({
  'modelserving.volcano.sh/name': 'pd',
  'modelserving.volcano.sh/group-name': `pd-${group}`,
  'modelserving.volcano.sh/role': role,
  'modelserving.volcano.sh/role-id': `${role}-${id}`,
  'modelserving.volcano.sh/entry': 'true',
});

/** Sets running requests of the replicas of both roles in each group, and keeps the marks on pods. */
function load(running: Readonly<Record<Role, readonly number[]>>, groups = 1): void {
  for (const role of ['prefill', 'decode'] as const) {
    for (let group = 0; group < groups; group++) {
      running[role].forEach((count, id) => {
        const name = `pd-${group}-${role}-${id}-0`;
        const host = hosts.get(name) ?? `127.0.4.${hosts.size + 1}`;
        hosts.set(name, host);
        const isThere = rig.cluster.objects.get('Pod', 'default', name) !== undefined;
        if (!isThere) rig.cluster.put(readyPod(name, labels(role, group, id), host));
        rig.pages.byHost.set(host, runningPage(count));
      });
    }
  }
}

/** A ModelServing that routers serve, with as many replicas of each role as `running` has numbers. */
function serving(running: Readonly<Record<Role, readonly number[]>>, { groups = 1, min = 1, more = {} } = {}): void {
  const names = ['prefill', 'decode'] as const;
  const role = (name: Role) => ({
    name,
    replicas: running[name].length,
    workerReplicas: 0,
    entryTemplate: { spec: { containers: [] } },
  });
  const metricSources = { running: { pod: { name: 'vllm:num_requests_running', port: rig.pages.port } } };
  const template = (name: Role) => ({ metadata: { name, labels: labels(name) }, spec: { containers: [] } });
  rig.cluster.templates.set('pd', names.map(template));
  rig.cluster.put(
    {
      apiVersion: 'workload.serving.volcano.sh/v1alpha1',
      kind: 'ModelServing',
      metadata: { name: 'pd', namespace: 'default' },
      spec: { replicas: groups, template: { roles: names.map(role) } },
    } as KubeObject,
    serverFor('pd', {
      workloadSelector: { matchLabels: { 'modelserving.volcano.sh/name': 'pd' } },
      workloadPort: { port: rig.pages.port },
    }),
    policyOf('p', {
      spec: {
        metrics: [{ name: 'running', targetValue: 10 }],
        behavior: { scaleDown: { stabilizationWindow: '0s', period: '0s' } },
        disaggregatedTarget: {
          targetRef: { kind: 'ModelServing', name: 'pd' },
          roles: Object.fromEntries(names.map((name) => [name, { minReplicas: min, maxReplicas: 8, metricSources }])),
          ...more,
        },
      },
    }),
  );
  load(running, groups);
}

const drained = (): string[] =>
  rig.cluster.objects
    .list('Pod')
    .filter(({ metadata }) => metadata.annotations?.[Annotations.drain] === 'true')
    .map(({ metadata }) => metadata.name)
    .sort();

describe('replicas of a role that routers serve', () => {
  it('go when the pods with the fewest requests are out of routing and have none any more', async () => {
    serving({ prefill: [10], decode: [8, 2, 9, 1] });
    await rig.round();
    expect(drained()).toEqual(['pd-0-decode-1-0', 'pd-0-decode-3-0']);
    expect(rig.cluster.objects.get('Pod', 'default', 'pd-0-decode-3-0')!.metadata.annotations).toMatchObject({
      [POD_DELETION_COST]: '-1000',
    });
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({ status: 'True' });
    load({ prefill: [10], decode: [9, 0, 10, 1] });
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    load({ prefill: [10], decode: [9, 0, 10, 0] });
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'pd', replicas: { decode: 2 } }]);
  });

  it('go at the deadline, whatever streams are left', async () => {
    serving({ prefill: [1, 1], decode: [10] });
    for (let i = 0; i < 8; i++) await rig.round();
    expect(rig.cluster.written).toEqual([]);
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'pd', replicas: { prefill: 1 } }]);
  });

  it('stay and are back in routing when load rises meanwhile', async () => {
    serving({ prefill: [10], decode: [8, 2, 9, 1] });
    await rig.round();
    expect(drained()).toHaveLength(2);
    load({ prefill: [10], decode: [18, 2, 19, 1] });
    await rig.round();
    expect(drained()).toEqual([]);
    expect(rig.cluster.written).toEqual([]);
    expect(rig.cluster.objects.get('Pod', 'default', 'pd-0-decode-3-0')!.metadata.annotations).toEqual({});
  });

  it('do not keep the other role from growing', async () => {
    serving({ prefill: [30], decode: [3, 3, 3] });
    await rig.round();
    expect(drained()).toEqual(['pd-0-decode-1-0', 'pd-0-decode-2-0']);
    expect(rig.cluster.written).toEqual([{ target: 'pd', replicas: { prefill: 3 } }]);
    load({ prefill: [10, 10, 10], decode: [9, 0, 0] });
    await rig.round();
    expect(rig.cluster.written.slice(1)).toEqual([{ target: 'pd', replicas: { decode: 1 } }]);
  });

  it('are as many in each group, which the role has that number of replicas in', async () => {
    serving({ prefill: [10], decode: [4, 1, 5] }, { groups: 2 });
    load({ prefill: [10], decode: [4, 1, 5] }, 2);
    rig.pages.byHost.set(hosts.get('pd-1-decode-0-0')!, runningPage(0));
    await rig.round();
    expect(drained()).toEqual(['pd-0-decode-0-0', 'pd-0-decode-1-0', 'pd-1-decode-0-0', 'pd-1-decode-1-0']);
  });

  it('go to zero of both roles or of neither, in one write, when all of them are out of routing', async () => {
    serving({ prefill: [0], decode: [0, 3] }, { min: 0 });
    await rig.round();
    expect(drained()).toEqual(['pd-0-decode-0-0']);
    load({ prefill: [0], decode: [0, 0] });
    await rig.round();
    expect(drained()).toEqual(['pd-0-decode-0-0', 'pd-0-decode-1-0', 'pd-0-prefill-0-0']);
    expect(rig.cluster.written).toEqual([]);
    load({ prefill: [2], decode: [0, 0] });
    await rig.round();
    expect(drained()).not.toContain('pd-0-prefill-0-0');
    load({ prefill: [0], decode: [0, 0] });
    for (let i = 0; i < 3; i++) await rig.round();
    expect(rig.cluster.objects.get('ModelServing', 'default', 'pd')!.spec.template.roles.map(({ replicas }) => replicas)).toEqual(
      [0, 0],
    );
    expect(rig.cluster.written.at(-1)!.replicas).toEqual({ decode: 0, prefill: 0 });
  });

  it('go from neither role during a rollout', async () => {
    serving({ prefill: [10], decode: [1, 1] });
    const pod = rig.cluster.objects.get('Pod', 'default', 'pd-0-decode-0-0')!;
    const revised = (revision: string) => ({ ...pod.metadata.labels, 'modelserving.volcano.sh/revision': revision });
    rig.cluster.put({ ...pod, metadata: { ...pod.metadata, labels: revised('new') } });
    const other = rig.cluster.objects.get('Pod', 'default', 'pd-0-decode-1-0')!;
    const old = { ...other.metadata.labels, 'modelserving.volcano.sh/revision': 'old' };
    rig.cluster.put({ ...other, metadata: { ...other.metadata, labels: old } });
    await rig.round();
    expect(drained()).toEqual([]);
    expect(rig.cluster.condition('p', 'Limited')).toMatchObject({ status: 'True', reason: 'RollingOut' });
  });
});

describe('a workload without roles', () => {
  it('is refused as a disaggregated target', async () => {
    rig.cluster.put(
      policyOf('p', {
        spec: {
          metrics: [{ name: 'running', targetValue: 10 }],
          disaggregatedTarget: {
            targetRef: { kind: 'LeaderWorkerSet', name: 'chat' },
            roles: { decode: { minReplicas: 1, maxReplicas: 2, metricSources: { running: { pod: {} } } } },
          },
        },
      }),
    );
    await rig.round();
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({
      reason: 'TargetInvalid',
      message: expect.stringContaining('LeaderWorkerSet default/chat; only a ModelServing has roles'),
    });
  });
});

describe('a ModelServing that is scaled as a whole', () => {
  it('loses the group with the fewest requests, with all pods of it that routers know', async () => {
    const running = { prefill: [1], decode: [1] };
    serving(running, { groups: 3 });
    load(running, 3);
    rig.pages.byHost.set(hosts.get('pd-2-prefill-0-0')!, runningPage(5));
    rig.cluster.remove('AutoscalingPolicy', 'default', 'p');
    const selector = { 'modelserving.volcano.sh/name': 'pd', 'modelserving.volcano.sh/entry': 'true' };
    rig.cluster.target('ModelServing', 'pd', 3, selector);
    rig.cluster.put(
      rig.policy('q', 'pd', {
        behavior: { scaleDown: { stabilizationWindow: '0s', period: '0s' } },
        metrics: [{ name: 'running', targetValue: 5 }],
        homogeneousTarget: {
          target: {
            targetRef: { kind: 'ModelServing', name: 'pd' },
            metricSources: { running: { pod: { name: 'vllm:num_requests_running', port: rig.pages.port } } },
          },
          minReplicas: 1,
          maxReplicas: 8,
        },
      }),
    );
    await rig.round();
    expect(rig.decisions.at(-1)!.units[0]!.desired).toBe(2);
    expect(drained()).toEqual(['pd-1-decode-0-0', 'pd-1-prefill-0-0']);
  });
});

describe('a role whose pods do not start', () => {
  const unschedulable = (name: string, role: Role, id: number) =>
    readyPod(name, labels(role, 0, id), '', {
      status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False' }] },
    });

  it('backs off with a condition, and the other one is not grown alone beyond the ratio', async () => {
    const ratioConstraint = { numeratorRole: 'prefill', denominatorRole: 'decode', minRatio: '0.25', maxRatio: '1' };
    serving({ prefill: [10], decode: [10, 10] }, { more: { ratioConstraint } });
    const grow = async (): Promise<void> => {
      load({ prefill: [40], decode: [100, 100] });
      await rig.round();
    };
    await grow();
    const counts = (): readonly (number | undefined)[] =>
      rig.cluster.objects.get('ModelServing', 'default', 'pd')!.spec.template.roles.map(({ replicas }) => replicas);
    const [prefill] = counts();
    expect(prefill).toBeGreaterThan(1);
    // Decode pods start, those of prefill find no node.
    const decode = counts()[1]!;
    for (let id = 1; id < prefill!; id++) rig.cluster.put(unschedulable(`pd-0-prefill-${id}-0`, 'prefill', id));
    load({ prefill: [40], decode: Array.from({ length: decode }, () => 10) });
    for (let i = 0; i < 24; i++) await rig.round();
    const before = counts();
    expect(rig.cluster.condition('p', 'Limited')).toMatchObject({
      status: 'True',
      reason: 'BackingOff',
      message: expect.stringContaining('prefill: no node has room for pod pd-0-prefill-1-0'),
    });
    load({ prefill: [80], decode: Array.from({ length: decode }, () => 40) });
    for (let i = 0; i < 4; i++) await rig.round();
    expect(counts()[0]).toBe(before[0]);
    expect(rig.cluster.condition('p', 'RatioConstraintViolated')).toMatchObject({ status: 'True', reason: 'BackingOff' });
    expect(counts()[1]).toBeLessThanOrEqual(Math.max(before[1]!, 4));
  });
});

describe('a role that a budget has no room for', () => {
  it('does not back off, since no other role could take its share: it grows as soon as there is room', async () => {
    await rig.close();
    rig = await AutoscalerRig.open({ budgets: [{ name: 'team', maxGpus: 2 }] });
    serving({ prefill: [10], decode: [10] });
    const containers = [{ name: 'engine', resources: { limits: { 'nvidia.com/gpu': 1 } } }];
    const template = (name: Role) => ({ metadata: { name, labels: labels(name) }, spec: { containers } });
    rig.cluster.templates.set('pd', [template('prefill'), template('decode')]);
    load({ prefill: [10], decode: [80] });
    for (let i = 0; i < 3; i++) await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'pd', replicas: { decode: 3 } }]);
    expect(rig.cluster.condition('p', 'Limited')).toMatchObject({ reason: 'NoRoom' });
  });
});

describe('roles of several serving groups', () => {
  const schedules = [{ timeZone: 'UTC', days: ['Mon'], from: '00:00', to: '23:59', replicas: 6 }];

  async function scaled(per: string | undefined): Promise<unknown> {
    serving({ prefill: [10], decode: [10] }, { groups: 2, more: per === undefined ? {} : { per } });
    const policy = rig.cluster.objects.get('AutoscalingPolicy', 'default', 'p')!;
    rig.cluster.put({ ...policy, spec: { ...policy.spec, schedules } } as typeof policy);
    await rig.round();
    return rig.cluster.written;
  }

  it('share what is wanted of the target, within bounds that are totals', async () => {
    expect(await scaled(undefined)).toEqual([{ target: 'pd', replicas: { decode: 3, prefill: 3 } }]);
  });

  it('each get what is wanted when the policy is per group', async () => {
    expect(await scaled('group')).toEqual([{ target: 'pd', replicas: { decode: 5, prefill: 5 } }]);
  });
});
