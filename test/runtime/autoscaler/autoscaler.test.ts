import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AutoscalerOptions, type RunningAutoscaler, startAutoscaler } from '../../../runtime/autoscaler/autoscaler';
import { silentLogger } from '../../../runtime/lib/logger';
import { VirtualClock } from '../../../runtime/lib/virtual-clock';
import { wallClock } from '../../../runtime/lib/wall-clock';
import { defaultAutoscalerConfig } from '../../../src/config/autoscaler-config';
import { homogeneousSpec, MetricsPages, policyOf, runningPage } from '../../helpers/autoscaler-rig';
import { FakeAutoscalerCluster, readyPod } from '../../helpers/fake-autoscaler-cluster';

const anyPort = { host: '127.0.0.1', port: 0 };
const log = silentLogger();

let pages: MetricsPages;
const running: RunningAutoscaler[] = [];

beforeEach(async () => {
  pages = await MetricsPages.open();
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((autoscaler) => autoscaler.close()));
  await pages.close();
});

async function start(options: Omit<AutoscalerOptions, 'config' | 'log'>): Promise<RunningAutoscaler> {
  const autoscaler = await startAutoscaler({ config: defaultAutoscalerConfig(), log, ...options });
  running.push(autoscaler);
  return autoscaler;
}

function clusterWithLoad(running: number): FakeAutoscalerCluster {
  pages.byHost.set('127.0.3.1', runningPage(running));
  return new FakeAutoscalerCluster()
    .target('Deployment', 'chat', 1)
    .put(readyPod('chat-0', { app: 'chat' }, '127.0.3.1'), policyOf('p', { spec: homogeneousSpec('chat', pages.port) }));
}

async function text(address: { host: string; port: number }, path: string): Promise<{ status: number; body: string }> {
  const answer = await fetch(`http://${address.host}:${address.port}${path}`, { headers: { connection: 'close' } });
  return { status: answer.status, body: await answer.text() };
}

describe('a running autoscaler', () => {
  it('serves its metrics, its health, and an explanation of every decision', async () => {
    const cluster = clusterWithLoad(30);
    const autoscaler = await start({ cluster, clock: wallClock(), metricsListen: anyPort, debugListen: anyPort });
    await autoscaler.whenFirstRound();
    const metrics = (await text(autoscaler.metricsAddress!, '/metrics')).body;
    expect(metrics).toContain('kvasir_autoscaler_replicas{policy="AutoscalingPolicy default/p",target="chat",of="desired"} 3');
    expect(metrics).toContain('kvasir_autoscaler_replicas{policy="AutoscalingPolicy default/p",target="chat",of="ready"} 1');
    expect(metrics).toContain('kvasir_autoscaler_scales_total{policy="AutoscalingPolicy default/p",direction="up"} 1');
    expect(metrics).toContain('kvasir_autoscaler_scrapes_total{result="answered"} 1');
    expect(await text(autoscaler.metricsAddress!, '/readyz')).toEqual({ status: 200, body: 'ok' });
    const { rounds } = JSON.parse((await text(autoscaler.debugAddress!, '/debug/explain?policy=default/p')).body);
    expect(rounds).toMatchObject([
      {
        policy: 'AutoscalingPolicy default/p',
        algorithm: 'default',
        units: [{ name: 'chat', current: 1, recommended: 3, desired: 3, verdicts: [{ name: 'running', replicas: 3 }] }],
        written: [{ from: 1, to: 3 }],
      },
    ]);
    expect(autoscaler.explain('default/other')).toEqual([]);
    await autoscaler.close();
    await expect(text(autoscaler.metricsAddress!, '/healthz')).rejects.toThrow();
  });

  it('is not ready before a round, and waits until the view is there', async () => {
    const cluster = clusterWithLoad(30);
    cluster.isSynced = false;
    const clock = new VirtualClock();
    const autoscaler = await start({ cluster, clock, metricsListen: anyPort });
    expect((await text(autoscaler.metricsAddress!, '/readyz')).status).toBe(503);
    expect(cluster.written).toEqual([]);
    cluster.isSynced = true;
    clock.advance(1000);
    await autoscaler.whenFirstRound();
    expect(cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
    await autoscaler.close();
  });

  it('passes rounds N times faster on a clock that runs N times faster', async () => {
    const seen: number[] = [];
    let fifth = (): void => {};
    const fiveRounds = new Promise<void>((resolve) => {
      fifth = resolve;
    });
    const onDecision = ({ at }: { at: string }): void => {
      if (seen.push(Date.parse(at)) === 5) fifth();
    };
    const startedAt = performance.now();
    await start({ cluster: clusterWithLoad(10), clock: wallClock(100), onDecision });
    await fiveRounds;
    // Four periods of 15 s are 600 real milliseconds at this speed; the first report comes a little into its round.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(seen[4]! - seen[0]!).toBeGreaterThanOrEqual(45_000);
  });

  it('goes on after a round that failed', async () => {
    const cluster = clusterWithLoad(30);
    const list = cluster.objects.list;
    let isBroken = true;
    const objects = {
      ...cluster.objects,
      list: ((kind, query) => {
        if (isBroken) throw new Error('broken');
        return list(kind, query);
      }) as typeof list,
    };
    const broken = {
      ...cluster,
      objects,
      scaling: cluster.scaling,
      status: cluster.status,
      events: cluster.events,
      leadership: cluster.leadership,
      pods: cluster.pods,
    };
    const clock = new VirtualClock();
    const autoscaler = await start({ cluster: broken, clock });
    await new Promise(setImmediate);
    isBroken = false;
    clock.advance(1000);
    await autoscaler.whenFirstRound();
    expect(cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
    await autoscaler.close();
  });

  it('tells in its metrics of a target that is missing', async () => {
    const cluster = clusterWithLoad(30);
    cluster.removeTarget('Deployment', 'chat');
    const autoscaler = await start({ cluster, clock: wallClock(), metricsListen: anyPort });
    await autoscaler.whenFirstRound();
    expect((await text(autoscaler.metricsAddress!, '/metrics')).body).toContain(
      'kvasir_autoscaler_condition{policy="AutoscalingPolicy default/p",condition="TargetFound",reason="TargetInvalid"} 0',
    );
  });

  it('explains itself to this machine alone', async () => {
    const options = { cluster: clusterWithLoad(10), clock: wallClock() };
    const { debugAddress } = await start({ ...options, debugListen: anyPort });
    const status = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const sent = request({ ...debugAddress!, path: '/debug/explain', headers: { host, connection: 'close' } });
        sent
          .once('error', reject)
          .once('response', (answer) => resolve(answer.resume().statusCode))
          .end();
      });
    const hosts = ['localhost', '127.0.0.1:15001', '[::1]', 'example.com', 'example.com:15001', '10.0.0.1'];
    expect(await Promise.all(hosts.map(status))).toEqual([200, 200, 200, 403, 403, 403]);
    const open = startAutoscaler({
      ...options,
      config: defaultAutoscalerConfig(),
      log,
      debugListen: { host: '0.0.0.0', port: 0 },
    });
    await expect(open).rejects.toThrow('--debug-listen: 0.0.0.0:0 can be reached from outside');
  });

  it('says in one line which port is taken, and leaves nothing open', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const taken = startAutoscaler({
      cluster: clusterWithLoad(10),
      clock: new VirtualClock(),
      config: defaultAutoscalerConfig(),
      log,
      metricsListen: anyPort,
      debugListen: { host: '127.0.0.1', port },
    });
    await expect(taken).rejects.toThrow(`--debug-listen: another process listens on 127.0.0.1:${port}`);
    await new Promise((resolve) => other.close(resolve));
  });
});
