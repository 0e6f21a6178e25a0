import { startAutoscaler } from '../../../runtime/autoscaler/autoscaler';
import { silentLogger } from '../../../runtime/lib/logger';
import { decodeKind } from '../../../src/api/decode-object';
import type { KubeObject } from '../../../src/api/meta';
import { defaultAutoscalerConfig } from '../../../src/config/autoscaler-config';
import { AutoscalerRig, policyOf, runningPage } from '../../helpers/autoscaler-rig';

let rig: AutoscalerRig;

beforeEach(async () => {
  rig = await AutoscalerRig.open();
  rig.cluster.term = '2/new';
});

afterEach(() => rig.close());

const CHAT = 'Deployment/default/chat';
const chatRef = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'chat' };

function chat(replicas: number, running: number): void {
  rig.cluster.target('Deployment', 'chat', replicas);
  rig.pods('chat', replicas, runningPage(running));
}

describe('a leader', () => {
  it('stamps a target with its term before it decides on it, and scales it in the same round', async () => {
    chat(1, 30);
    rig.cluster.stamped.set(CHAT, '1/old');
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.stamped.get(CHAT)).toBe('2/new');
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
  });

  it('shuts out what the leader before it had decided, also where it changes nothing itself', async () => {
    chat(2, 10);
    const seen = await rig.cluster.scaling.read(chatRef);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    if (seen.kind !== 'found') throw new Error(seen.kind);
    expect(await rig.cluster.scaling.set(chatRef, 5, seen.value.version)).toEqual({ kind: 'conflict' });
  });

  it('stamps a target once', async () => {
    chat(2, 10);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    rig.cluster.stamped.delete(CHAT);
    await rig.round();
    expect(rig.cluster.stamped.size).toBe(0);
  });

  it('stamps a ModelServing whose roles it scales, and scales them in the same round', async () => {
    const template = { spec: { containers: [{ name: 'engine', image: 'vllm/vllm-openai:v0.20.2' }] } };
    const role = (name: string) => ({ name, replicas: 1, entryTemplate: template, workerReplicas: 0 });
    const serving = decodeKind('ModelServing', {
      apiVersion: 'workload.serving.volcano.sh/v1alpha1',
      kind: 'ModelServing',
      metadata: { name: 'pd', namespace: 'default' },
      spec: { replicas: 1, template: { roles: [role('prefill'), role('decode')] } },
    });
    if (serving.kind === 'invalid') throw new Error(JSON.stringify(serving.findings));
    const metricSources = { running: { pod: { name: 'vllm:num_requests_running', port: rig.pages.port } } };
    const bounds = { minReplicas: 2, maxReplicas: 4, metricSources };
    const spec = {
      metrics: [{ name: 'running', targetValue: 10 }],
      disaggregatedTarget: { targetRef: { kind: 'ModelServing', name: 'pd' }, roles: { prefill: bounds, decode: bounds } },
    };
    rig.cluster.put(serving.value as KubeObject, policyOf('p', { spec }));
    await rig.round();
    expect(rig.cluster.stamped.get('ModelServing/default/pd')).toBe('2/new');
    expect(rig.cluster.written).toEqual([{ target: 'pd', replicas: { prefill: 2, decode: 2 } }]);
  });

  it.each(['kvasir.dev/pause', 'kvasir.dev/recommend-only'])('stamps nothing for a policy with %s', async (annotation) => {
    chat(1, 30);
    rig.cluster.put(rig.policy('p', 'chat', {}, { annotations: { [annotation]: 'true' } }));
    await rig.round();
    expect(rig.cluster.stamped.size).toBe(0);
  });

  it('stamps nothing in a dry run', async () => {
    const dry = await AutoscalerRig.open({ dryRun: true });
    dry.cluster.term = '2/new';
    dry.cluster.target('Deployment', 'chat', 1);
    dry.pods('chat', 1, runningPage(30));
    dry.cluster.put(dry.policy('p', 'chat'));
    await dry.round();
    expect(dry.cluster.stamped.size).toBe(0);
    await dry.close();
  });

  it('looks again when somebody writes while it stamps', async () => {
    chat(1, 30);
    rig.cluster.stampAnswers.push({ kind: 'conflict' }, { kind: 'conflict' });
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
  });

  it('decides nothing on a target that it may not stamp, and says so', async () => {
    chat(1, 30);
    rig.cluster.stampAnswers.push({ kind: 'forbidden', message: 'deployments/status is forbidden' });
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({
      status: 'False',
      reason: 'TargetForbidden',
      message: 'marking Deployment default/chat with the term of this leader is forbidden: deployments/status is forbidden',
    });
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
  });

  it('stamps a target that was made anew under its name, one round before it scales it', async () => {
    chat(2, 10);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    rig.cluster.removeTarget('Deployment', 'chat');
    rig.cluster.target('Deployment', 'chat', 2, { app: 'chat' }, 'uid-anew');
    rig.cluster.stamped.delete(CHAT);
    rig.pods('chat', 2, runningPage(40));
    await rig.round();
    expect([rig.cluster.written, rig.cluster.stamped.size]).toEqual([[], 0]);
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 6 }]);
    expect(rig.cluster.stamped.get(CHAT)).toBe('2/new');
  });

  it('gives up when a write meets a conflict and the target carries the term of another leader', async () => {
    chat(2, 10);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    rig.pods('chat', 2, runningPage(30));
    rig.cluster.scaleAnswers.push({ kind: 'conflict' });
    rig.cluster.stamped.set(CHAT, '3/newer');
    await rig.round();
    expect(rig.cluster.conceded).toMatchObject([
      {
        code: 'leader/superseded',
        object: 'Deployment default/chat',
        message: '3/newer has decided on it after 2/new, which is this process, so this process ends',
      },
    ]);
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
  });

  it.each([['2/new'], [undefined]])('goes on when a write meets a conflict and the target carries the term %s', async (epoch) => {
    chat(2, 10);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    rig.pods('chat', 2, runningPage(30));
    rig.cluster.scaleAnswers.push({ kind: 'conflict' });
    rig.cluster.stamped.delete(CHAT);
    if (epoch !== undefined) rig.cluster.stamped.set(CHAT, epoch);
    await rig.round();
    expect(rig.cluster.conceded).toEqual([]);
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 6 }]);
  });

  it('stamps nothing where nobody else can lead', async () => {
    rig.cluster.term = undefined;
    chat(1, 30);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.stamped.size).toBe(0);
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
  });
});

describe('a standby', () => {
  it('asks no pod, writes nothing, is ready once it knows who leads, and says that it does not lead', async () => {
    chat(1, 30);
    const { cluster, clock, pages } = rig;
    cluster.put(rig.policy('p', 'chat'));
    cluster.isLeader = false;
    const metricsListen = { host: '127.0.0.1', port: 0 };
    const options = { cluster, clock, config: defaultAutoscalerConfig(), log: silentLogger(), metricsListen };
    const autoscaler = await startAutoscaler(options);
    const get = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${autoscaler.metricsAddress!.port}${path}`, {
        headers: { connection: 'close' },
      });
      return { status: answer.status, body: await answer.text() };
    };
    try {
      expect((await get('/readyz')).status).toBe(503);
      cluster.isStandby = true;
      cluster.isSynced = false;
      expect((await get('/readyz')).status).toBe(503);
      cluster.isSynced = true;
      expect((await get('/readyz')).status).toBe(200);
      for (let i = 0; i < 5; i++) clock.advance(15_000);
      expect((await get('/metrics')).body).toContain('kvasir_autoscaler_leader 0');
      expect([pages.asked, cluster.written, cluster.stamped.size, cluster.statuses]).toEqual([[], [], 0, []]);

      cluster.isStandby = false;
      expect((await get('/readyz')).status).toBe(200);
      cluster.isLeader = true;
      clock.advance(1000);
      await autoscaler.whenFirstRound();
      expect(cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
      expect((await get('/metrics')).body).toContain('kvasir_autoscaler_leader 1');
    } finally {
      await autoscaler.close();
    }
  });
});
