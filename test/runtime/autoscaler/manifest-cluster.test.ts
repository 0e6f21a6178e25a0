import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { type RunningAutoscaler, startAutoscaler } from '../../../runtime/autoscaler/autoscaler';
import { autoscalerMain } from '../../../runtime/autoscaler/main';
import type { AutoscalerCluster } from '../../../runtime/cluster/cluster';
import { withFaults } from '../../../runtime/cluster/faults';
import { type ManifestCluster, openManifestCluster } from '../../../runtime/cluster/manifests';
import { silentLogger } from '../../../runtime/lib/logger';
import { VirtualClock } from '../../../runtime/lib/virtual-clock';
import { defaultAutoscalerConfig } from '../../../src/config/autoscaler-config';
import { MetricsPages, runningPage } from '../../helpers/autoscaler-rig';

const manifests = (port: number): string => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: chat, namespace: default }
spec:
  replicas: 1
  selector: { matchLabels: { app: chat } }
  template:
    metadata: { labels: { app: chat } }
    spec: { containers: [{ name: engine, image: engine }] }
---
apiVersion: v1
kind: Pod
metadata: { name: given, namespace: default, labels: { app: chat } }
spec: { containers: [{ name: engine, image: engine }] }
status: { podIP: 127.0.4.1 }
---
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: AutoscalingPolicy
metadata: { name: p, namespace: default }
spec:
  metrics: [{ name: running, targetValue: 10 }]
  behavior: { scaleDown: { stabilizationWindow: 0s } }
  homogeneousTarget:
    target:
      targetRef: { kind: Deployment, name: chat }
      metricSources: { running: { pod: { name: "vllm:num_requests_running", port: ${port} } } }
    minReplicas: 1
    maxReplicas: 8
`;

let pages: MetricsPages;
let folder: string;

beforeEach(async () => {
  pages = await MetricsPages.open();
  folder = mkdtempSync(join(tmpdir(), 'autoscaler-'));
  writeFileSync(join(folder, 'chat.yaml'), manifests(pages.port));
  pages.byHost.set('127.0.4.1', runningPage(30));
});

afterEach(async () => {
  await pages.close();
  rmSync(folder, { recursive: true });
});

async function until(isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 5000 && !isTrue(); i++) await setImmediate();
  expect(isTrue()).toBe(true);
  for (let i = 0; i < 3; i++) await setImmediate();
}

describe('over a folder of manifests', () => {
  let clock: VirtualClock;
  let manifestCluster: ManifestCluster;
  let cluster: ReturnType<typeof withFaults>;
  let running: RunningAutoscaler | undefined;
  let rounds = 0;

  beforeEach(async () => {
    clock = new VirtualClock(Date.parse('2026-11-30T12:00:00Z'));
    manifestCluster = await openManifestCluster({ paths: [folder], clock });
    cluster = withFaults(manifestCluster, clock);
    running = undefined;
    rounds = 0;
  });

  afterEach(async () => {
    await running?.close();
    await manifestCluster.close();
  });

  async function round(): Promise<void> {
    const before = rounds;
    if (running === undefined) {
      const onDecision = (): void => {
        rounds += 1;
      };
      running = await startAutoscaler({ cluster, clock, config: defaultAutoscalerConfig(), log: silentLogger(), onDecision });
    } else clock.advance(15_000);
    await until(() => rounds > before);
  }

  const desired = (): number | undefined =>
    (manifestCluster.objects.get('Deployment', 'default', 'chat') as { spec?: { replicas?: number } } | undefined)?.spec
      ?.replicas;
  const condition = (type: string) =>
    manifestCluster.objects.get('AutoscalingPolicy', 'default', 'p')?.status?.conditions?.find((one) => one.type === type);

  it('scales a Deployment by the pod that the files give, and writes the status', async () => {
    await round();
    expect(desired()).toBe(3);
    expect(manifestCluster.objects.get('AutoscalingPolicy', 'default', 'p')?.status).toMatchObject({
      observedGeneration: 1,
      homogeneousStatus: { name: 'chat', currentReplicas: 1, desiredReplicas: 3, mode: 'Stable' },
    });
    expect(manifestCluster.notedEvents().map(({ reason }) => reason)).toEqual(['ScaledUp']);
  });

  it('reads the target again in the next round after a conflict', async () => {
    cluster.faults.fail('write', { kind: 'conflict' });
    await round();
    expect(desired()).toBe(1);
    await round();
    expect(desired()).toBe(3);
    expect(condition('Ready')).toMatchObject({ status: 'True' });
  });

  it('writes the status in a later round when it could not be written at first', async () => {
    pages.byHost.set('127.0.4.1', runningPage(10));
    cluster.faults.fail('write', { kind: 'unavailable', message: 'no connection' });
    await round();
    expect(condition('Ready')).toBeUndefined();
    await round();
    expect(condition('Ready')).toMatchObject({ status: 'True' });
  });

  it('tells why the target could not be read, and goes on when it can', async () => {
    cluster.faults.fail('read', { kind: 'forbidden', message: 'no rule allows it' });
    await round();
    expect(condition('Ready')).toMatchObject({ status: 'False', reason: 'TargetForbidden' });
    expect(condition('TargetFound')).toMatchObject({ status: 'Unknown' });
    await round();
    expect(desired()).toBe(3);
  });

  it('scales nothing down on a view older than two rounds', async () => {
    pages.byHost.set('127.0.4.1', runningPage(30));
    await round();
    cluster.faults.freezeCache();
    await round();
    await round();
    const before = desired()!;
    pages.byHost.set('127.0.4.1', runningPage(0));
    await round();
    expect(desired()).toBe(before);
    expect(running?.explain().at(-1)?.units[0]?.limits.at(-1)).toMatchObject({ rule: 'stale-view' });
    cluster.faults.refresh();
    await round();
    expect(desired()).toBe(before - 1);
  });

  it('waits for a slow first view', async () => {
    cluster.faults.delaySync();
    const onDecision = (): void => {
      rounds += 1;
    };
    running = await startAutoscaler({
      cluster: cluster as AutoscalerCluster,
      clock,
      config: defaultAutoscalerConfig(),
      log: silentLogger(),
      onDecision,
    });
    clock.advance(5000);
    await setTimeout(20);
    expect(rounds).toBe(0);
    cluster.faults.refresh();
    clock.advance(1000);
    await until(() => rounds > 0);
    expect(desired()).toBe(3);
  });

  it('takes a target that was deleted and made again under the same name as one without a past', async () => {
    await round();
    cluster.faults.recreate({ kind: 'Deployment', namespace: 'default', name: 'chat' });
    pages.byHost.set('127.0.4.1', runningPage(80));
    await round();
    // From 3 by at most four a minute; the growth from 1 to 3 was another object's.
    expect(desired()).toBe(7);
  });
});

describe('the command line', () => {
  let stderr: string[];

  beforeEach(() => {
    stderr = [];
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      stderr.push(String(text));
      return true;
    });
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('says in one line that there is no kubeconfig', async () => {
    expect(await autoscalerMain(['--cluster', 'kubernetes', '--kubeconfig', '/none'])).toBe(1);
    expect(stderr).toEqual([
      expect.stringMatching(/^\/none: --kubeconfig: the kubeconfig cannot be used: ENOENT.* \[cluster\/kubeconfig\]\n$/),
    ]);
  });

  it.each([
    [[], 2],
    [['--cluster', 'x', '--nonsense'], 2],
  ])('ends with %j as a wrong command line', async (argv, status) => {
    expect(await autoscalerMain(argv)).toBe(status);
    expect(stderr.join('')).toMatch(/^error: [^\n]+\n$/);
  });

  it('names the field of a configuration that is wrong', async () => {
    const file = join(folder, 'config.yaml');
    writeFileSync(file, 'syncPeriod: 5s\n');
    expect(await autoscalerMain(['--cluster', folder, '--config', file])).toBe(1);
    expect(stderr.join('')).toContain(`${file}: syncPeriod: is no field of the autoscaler configuration`);
  });

  it('names a configuration file that is not there', async () => {
    expect(await autoscalerMain(['--cluster', folder, '--config', join(folder, 'none.yaml')])).toBe(1);
    expect(stderr.join('')).toMatch(/none\.yaml: --config: cannot be read \(ENOENT\); give a file that exists/);
  });

  it('acts on the folder, explains itself, and ends cleanly on SIGTERM', async () => {
    const port = await freePort();
    const ended = autoscalerMain(['--cluster', folder, '--metrics-listen', '127.0.0.1:0', '--debug-listen', `127.0.0.1:${port}`]);
    let rounds: readonly { units: readonly object[] }[] = [];
    for (let i = 0; i < 100 && rounds.length === 0; i++) {
      await setTimeout(20);
      const answer = await fetch(`http://127.0.0.1:${port}/debug/explain`, { headers: { connection: 'close' } }).catch(
        () => undefined,
      );
      if (answer !== undefined) ({ rounds } = (await answer.json()) as { rounds: typeof rounds });
    }
    expect(rounds[0]?.units).toMatchObject([{ name: 'chat', current: 1, desired: 3 }]);
    process.emit('SIGTERM', 'SIGTERM');
    expect(await ended).toBe(0);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
