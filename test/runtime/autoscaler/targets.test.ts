import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeKind } from '../../../src/api/decode-object';
import type { KubeObject } from '../../../src/api/meta';
import { AutoscalerRig, policyOf, runningPage } from '../../helpers/autoscaler-rig';
import { readyPod } from '../../helpers/fake-autoscaler-cluster';

let rig: AutoscalerRig;

beforeEach(async () => {
  rig = await AutoscalerRig.open();
});

afterEach(() => rig.close());

const source = (family = 'vllm:num_requests_running') => ({ pod: { name: family, port: rig.pages.port } });

function pod(name: string, labels: Readonly<Record<string, string>>, host: string, running: number): void {
  rig.cluster.put(readyPod(name, labels, host));
  rig.pages.byHost.set(host, runningPage(running));
}

describe('pages that a real engine gave, over real sockets', () => {
  it('scales by the recorded load and not by the recorded rest', async () => {
    const page = (name: string): string => {
      const text = readFileSync(join(__dirname, '../../fixtures/engines/vllm-0.32.0/http', `${name}.resp.http`), 'utf8');
      return text.slice(text.indexOf('# HELP'));
    };
    rig.cluster.target('Deployment', 'chat', 1).put(
      policyOf('p', {
        spec: {
          metrics: [
            { name: 'running', targetValue: 2 },
            { name: 'waiting', targetValue: 2 },
          ],
          homogeneousTarget: {
            target: {
              targetRef: { kind: 'Deployment', name: 'chat' },
              metricSources: { running: source(), waiting: source('vllm:num_requests_waiting') },
            },
            minReplicas: 1,
            maxReplicas: 8,
          },
        },
      }),
    );
    rig.pods('chat', 1, page('metrics_idle'));
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    rig.pods('chat', 1, page('metrics_load'));
    await rig.round();
    // 4 running ask for two replicas, 6 waiting for three.
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
    expect(rig.decisions.at(-1)?.units[0]?.verdicts).toEqual([
      { name: 'running', replicas: 2 },
      { name: 'waiting', replicas: 3 },
    ]);
  });
});

describe('a Prometheus source', () => {
  it('is asked for the query, and its answer counts for the whole target', async () => {
    rig.cluster.target('Deployment', 'chat', 1).put(
      policyOf('p', {
        spec: {
          metrics: [{ name: 'rps', targetValue: '0.5' }],
          homogeneousTarget: {
            target: {
              targetRef: { kind: 'Deployment', name: 'chat' },
              metricSources: {
                rps: {
                  prometheus: { serverURL: `http://127.0.0.9:${rig.pages.port}/`, query: 'sum(rate(http_requests_total[2m]))' },
                },
              },
            },
            minReplicas: 0,
            maxReplicas: 8,
          },
        },
      }),
    );
    const answer = (value: string) =>
      JSON.stringify({ status: 'success', data: { resultType: 'vector', result: [{ value: [Date.now() / 1000, value] }] } });
    rig.pages.byHost.set('127.0.0.9', answer('1.9'));
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 4 }]);
    const query = new URLSearchParams({ query: 'sum(rate(http_requests_total[2m]))', lookback_delta: '120s' });
    expect(rig.pages.asked).toEqual([`127.0.0.9/api/v1/query?${query}`]);
  });
});

describe('pods of a target', () => {
  it('of a ModelServing only the entry pods of its groups are asked', async () => {
    rig.cluster.target('ModelServing', 'ms', 1, { 'modelserving.volcano.sh/name': 'ms' });
    const labels = { 'modelserving.volcano.sh/name': 'ms', 'modelserving.volcano.sh/group-name': 'ms-0' };
    pod('entry', { ...labels, 'modelserving.volcano.sh/entry': 'true' }, '127.0.2.1', 30);
    pod('worker', labels, '127.0.2.2', 1000);
    rig.cluster.put(
      policyOf('p', {
        spec: {
          metrics: [{ name: 'running', targetValue: 10 }],
          homogeneousTarget: {
            target: { targetRef: { name: 'ms' }, metricSources: { running: source() } },
            minReplicas: 1,
            maxReplicas: 8,
          },
        },
      }),
    );
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'ms', replicas: 3 }]);
    expect(rig.pages.asked).toEqual(['127.0.2.1/metrics']);
  });

  it('of a Deployment each count for themselves, though all have the name of one pairing group', async () => {
    rig.cluster.target('Deployment', 'chat', 3);
    const labels = { app: 'chat', 'modelserving.volcano.sh/group-name': 'm-0', 'modelserving.volcano.sh/role': 'decode' };
    pod('one', labels, '127.0.2.1', 40);
    pod('two', labels, '127.0.2.2', 20);
    // One that does not answer leaves itself out, and not the group.
    rig.cluster.put(readyPod('three', labels, '127.0.2.3'));
    rig.cluster.put(
      policyOf('p', {
        spec: {
          metrics: [{ name: 'running', targetValue: 10 }],
          homogeneousTarget: {
            target: { targetRef: { kind: 'Deployment', name: 'chat' }, metricSources: { running: source() } },
            minReplicas: 1,
            maxReplicas: 8,
          },
        },
      }),
    );
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 6 }]);
  });

  it('are narrowed by the selector of the source', async () => {
    rig.cluster.target('Deployment', 'chat', 1);
    pod('one', { app: 'chat', track: 'stable' }, '127.0.2.1', 20);
    pod('two', { app: 'chat', track: 'canary' }, '127.0.2.2', 1000);
    const narrowed = {
      pod: { ...source().pod, labelSelector: { matchExpressions: [{ key: 'track', operator: 'NotIn', values: ['canary'] }] } },
    };
    rig.cluster.put(
      policyOf('p', {
        spec: {
          metrics: [{ name: 'running', targetValue: 10 }],
          homogeneousTarget: {
            target: { targetRef: { kind: 'Deployment', name: 'chat' }, metricSources: { running: narrowed } },
            minReplicas: 1,
            maxReplicas: 8,
          },
        },
      }),
    );
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 2 }]);
  });

  it('are none when the target selects nothing, rather than the whole namespace', async () => {
    rig.cluster.target('Deployment', 'chat', 1, {});
    pod('foreign', { app: 'other' }, '127.0.2.1', 50);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.condition('p', 'MetricMissing')).toMatchObject({ message: 'running: the target has no pods' });
  });
});

describe('a heterogeneous target', () => {
  function twoPools(h100: number, a100: number): void {
    rig.cluster.target('Deployment', 'h100', h100).target('Deployment', 'a100', a100);
    const param = (name: string, cost: number, minReplicas: number, maxReplicas: number) => ({
      target: { targetRef: { kind: 'Deployment', name }, metricSources: { running: source() } },
      cost,
      minReplicas,
      maxReplicas,
    });
    rig.cluster.put(
      policyOf('p', {
        spec: {
          metrics: [{ name: 'running', targetValue: 10 }],
          heterogeneousTarget: { params: [param('h100', 100, 0, 4), param('a100', 60, 1, 8)] },
          behavior: { scaleUp: { stablePolicy: { period: '0s' } }, scaleDown: { period: '0s', stabilizationWindow: '0s' } },
        },
      }),
    );
  }

  it('is sized by the load of all pools and laid on them at least cost', async () => {
    twoPools(0, 1);
    pod('a', { app: 'a100' }, '127.0.2.1', 70);
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'a100', replicas: 7 }]);
    expect(rig.decisions.at(-1)?.mix).toEqual({ load: 7, capacities: [1, 1], cost: 420 });
  });

  it('under algorithm kthena is laid on the pools in the order of cost blocks', async () => {
    await rig.close();
    rig = await AutoscalerRig.open({ algorithm: 'kthena' });
    twoPools(0, 1);
    pod('a', { app: 'a100' }, '127.0.2.1', 70);
    await rig.round();
    expect(rig.cluster.written).toEqual([
      { target: 'h100', replicas: 3 },
      { target: 'a100', replicas: 4 },
    ]);
    expect(rig.cluster.statusOf('p')).toMatchObject({
      heterogeneousStatus: [
        { name: 'default/h100', currentReplicas: 0, desiredReplicas: 3, lastScaleTime: '2026-11-30T12:00:00Z' },
        { name: 'default/a100', currentReplicas: 1, desiredReplicas: 4 },
      ],
    });
  });

  it('stays as it is without metrics, except for the bounds of each pool', async () => {
    twoPools(2, 0);
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'a100', replicas: 1 }]);
  });

  it('tells when one of the pools is missing', async () => {
    twoPools(1, 1);
    rig.cluster.removeTarget('Deployment', 'a100');
    await rig.round();
    expect(rig.cluster.condition('p', 'TargetFound')).toMatchObject({ status: 'False' });
    expect(rig.cluster.written).toEqual([]);
  });
});

describe('a disaggregated target', () => {
  function roles(prefill: number, decode: number, spec: object = {}): void {
    const template = (name: string, replicas: number) => ({
      name,
      replicas,
      entryTemplate: { spec: { containers: [{ name: 'engine', image: 'vllm/vllm-openai:v0.20.2' }] } },
      workerReplicas: 0,
    });
    const serving = decodeKind('ModelServing', {
      apiVersion: 'workload.serving.volcano.sh/v1alpha1',
      kind: 'ModelServing',
      metadata: { name: 'pd', namespace: 'default' },
      spec: { replicas: 1, template: { roles: [template('prefill', prefill), template('decode', decode)] } },
    });
    if (serving.kind === 'invalid') throw new Error(JSON.stringify(serving.findings));
    const role = (maxReplicas: number) => ({ minReplicas: 1, maxReplicas, metricSources: { running: source() } });
    rig.cluster.put(
      serving.value as KubeObject,
      policyOf('p', {
        spec: {
          metrics: [{ name: 'running', targetValue: 10 }],
          disaggregatedTarget: {
            targetRef: { kind: 'ModelServing', name: 'pd' },
            roles: { prefill: role(8), decode: role(16) },
            ratioConstraint: { numeratorRole: 'prefill', denominatorRole: 'decode', minRatio: '0.25', maxRatio: '1' },
            ...spec,
          },
          behavior: { scaleUp: { stablePolicy: { period: '0s' } } },
        },
      }),
    );
  }

  const labels = (role: string, id: number) => ({
    'modelserving.volcano.sh/name': 'pd',
    'modelserving.volcano.sh/role': role,
    'modelserving.volcano.sh/role-id': `${role}-${id}`,
    'modelserving.volcano.sh/entry': 'true',
  });

  it('sizes each role by its own load, keeps the ratio by growing the short side, and writes both at once', async () => {
    roles(1, 1);
    pod('p0', labels('prefill', 0), '127.0.2.1', 10);
    pod('d0', labels('decode', 0), '127.0.2.2', 80);
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'pd', replicas: { decode: 8, prefill: 2 } }]);
    expect(rig.cluster.statusOf('p')).toMatchObject({
      disaggregatedStatus: {
        ratioAdjusted: true,
        ratioStatus: { numeratorRole: 'prefill', denominatorRole: 'decode', currentRatio: '0.25' },
        roles: [
          { name: 'decode', currentReplicas: 1, desiredReplicas: 8 },
          { name: 'prefill', currentReplicas: 1, desiredReplicas: 1 },
        ],
      },
    });
    expect(rig.cluster.condition('p', 'RatioConstraintViolated')).toMatchObject({ status: 'False' });
  });

  it('repairs the ratio even when one role has no metric', async () => {
    roles(1, 8);
    pod('p0', labels('prefill', 0), '127.0.2.1', 10);
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'pd', replicas: { prefill: 2 } }]);
  });

  it('under algorithm kthena one role without metric freezes both', async () => {
    const kthena = await AutoscalerRig.open({ algorithm: 'kthena' });
    const original = rig;
    rig = kthena;
    roles(1, 8);
    pod('p0', labels('prefill', 0), '127.0.2.1', 80);
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    rig = original;
    await kthena.close();
  });

  it('tells that a role is missing', async () => {
    roles(1, 1, {
      roles: { prefill: { minReplicas: 1, maxReplicas: 1 }, nobody: { minReplicas: 1, maxReplicas: 1 } },
      ratioConstraint: undefined,
    });
    await rig.round();
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({ status: 'False', reason: 'RoleMissing' });
  });
});
