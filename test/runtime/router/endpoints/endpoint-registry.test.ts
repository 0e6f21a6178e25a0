import { EndpointRegistry } from '../../../../runtime/router/endpoints/endpoint-registry';
import { capacityOfPod } from '../../../../runtime/router/endpoints/engine-capacity';
import { Annotations } from '../../../../src/labels';
import { modelServerOf, podOf } from '../../../helpers/router-cluster';

function registryWithLog() {
  const log: string[] = [];
  const note =
    (what: string) =>
    ({ endpoint }: { endpoint: { pod: { uid: string }; slot: number } }) => {
      log.push(`${what} ${endpoint.pod.uid} ${endpoint.slot}`);
    };
  const registry = new EndpointRegistry(
    [{ added: note('added'), removed: note('removed'), restarted: note('restarted') }],
    (pod, server) => capacityOfPod(pod, { modelServers: [server], modelRoutes: [] }),
  );
  const ids = (key: string) => registry.pool(key)?.map(({ endpoint }) => endpoint.id);
  return { registry, log, ids };
}

const server = modelServerOf('a');

describe('the endpoint registry', () => {
  it('holds the pods that a ModelServer selects in its namespace, with an address, on its port', () => {
    const { registry, ids } = registryWithLog();
    const elsewhere = podOf('a', 3, { namespace: 'other', uid: 'u3' });
    const starting = podOf('a', 4, { status: { phase: 'Pending', podIP: '' } });
    registry.update([server], [podOf('a', 0), podOf('b', 1), elsewhere, starting]);
    expect(ids('default/a')).toEqual(['default/a-0#uid-a-0']);
    expect(registry.pool('default/a')![0]!.endpoint).toMatchObject({ host: '10.0.0.1', port: 8000, engine: 'vLLM', slot: 0 });
    expect(ids('default/none')).toBeUndefined();
  });

  it.each([
    ['ready', {}, true],
    ['not ready', { status: { conditions: [{ type: 'Ready', status: 'False' as const }] } }, false],
    ['terminating', { deletionTimestamp: '2026-01-01T00:00:00Z' }, false],
    ['marked for drain', { annotations: { [Annotations.drain]: 'true' } }, false],
    ['marked "false" for drain', { annotations: { [Annotations.drain]: 'false' } }, true],
  ])('says of a pod that is %s whether it gets new work (%j → %s)', (_name, changes, isAvailable) => {
    const { registry } = registryWithLog();
    registry.update([server], [podOf('a', 0, changes)]);
    expect(registry.pool('default/a')!.map((live) => live.isAvailable)).toEqual([isAvailable]);
  });

  it('keeps what is known of a pod through a phase of not being ready', () => {
    const { registry, log } = registryWithLog();
    registry.update([server], [podOf('a', 0)]);
    const live = registry.pool('default/a')![0]!;
    live.ledger.dispatch({ uncachedTokens: 1, kvTokens: 1 }, 0);
    registry.update([server], [podOf('a', 0, { status: { conditions: [{ type: 'Ready', status: 'False' }] } })]);
    registry.update([server], [podOf('a', 0)]);
    expect(registry.pool('default/a')![0]).toBe(live);
    expect(live.ledger.running).toBe(1);
    expect(log).toEqual(['added uid-a-0 0']);
  });

  it('makes another endpoint of a pod that comes back under its name and address, and gives the slot only after the purge', () => {
    const { registry, log, ids } = registryWithLog();
    registry.update([server], [podOf('a', 0)]);
    const before = registry.pool('default/a')![0]!;
    registry.update([server], [podOf('a', 0, { uid: 'second' })]);
    expect(ids('default/a')).toEqual(['default/a-0#second']);
    expect(log).toEqual(['added uid-a-0 0', 'removed uid-a-0 0', 'added second 0']);
    expect([before.isGone, before.isAvailable]).toEqual([true, false]);
  });

  it('drops a pod that is relabelled, and empties the pool of a selector that matches nothing', () => {
    const { registry, ids } = registryWithLog();
    registry.update([server], [podOf('a', 0), podOf('a', 1)]);
    registry.update([server], [podOf('a', 0), podOf('a', 1, { labels: { app: 'x' } })]);
    expect(ids('default/a')).toEqual(['default/a-0#uid-a-0']);
    registry.update([modelServerOf('a', { workloadSelector: { matchLabels: { app: 'nobody' } } })], [podOf('a', 0)]);
    expect(ids('default/a')).toEqual([]);
    registry.update([], [podOf('a', 0)]);
    expect([ids('default/a'), registry.all()]).toEqual([undefined, []]);
  });

  it('tells of a container that restarted, whose cache is empty', () => {
    const { registry, log } = registryWithLog();
    const status = (restartCount: number) => ({ containerStatuses: [{ name: 'engine', ready: true, restartCount }] });
    registry.update([server], [podOf('a', 0, { status: status(1) })]);
    registry.update([server], [podOf('a', 0, { status: status(2) })]);
    registry.update([server], [podOf('a', 0, { status: status(2) })]);
    expect(log).toEqual(['added uid-a-0 0', 'restarted uid-a-0 0']);
  });

  it('shares one endpoint between ModelServers that select the same pod on the same port, and makes two for two ports', () => {
    const { registry, ids } = registryWithLog();
    const twin = { ...modelServerOf('twin'), spec: server.spec };
    const other = { ...modelServerOf('z'), spec: { ...server.spec, workloadPort: { port: 9000, protocol: 'http' as const } } };
    registry.update([server, twin, other], [podOf('a', 0)]);
    expect(registry.pool('default/a')![0]).toBe(registry.pool('default/twin')![0]);
    expect(ids('default/z')).toEqual(['default/a-0#uid-a-0:9000']);
    expect(registry.all()).toHaveLength(2);
  });

  it('takes the decode pods of a ModelServer that has prefill pods too', () => {
    const { registry, ids } = registryWithLog();
    const matchLabels = { app: 'a' };
    const pdGroup = { groupKey: 'g', prefillLabels: { role: 'p' }, decodeLabels: { role: 'd' } };
    const pods = [podOf('a', 0, { labels: { app: 'a', role: 'p' } }), podOf('a', 1, { labels: { app: 'a', role: 'd' } })];
    registry.update([modelServerOf('a', { workloadSelector: { matchLabels, pdGroup } })], pods);
    expect(ids('default/a')).toEqual(['default/a-1#uid-a-1']);
  });

  it('follows the port that a preview says a pod really listens on', () => {
    const { registry } = registryWithLog();
    registry.update([server], [podOf('a', 0, { annotations: { [Annotations.portMap]: '8000=41234' } })]);
    expect(registry.pool('default/a')![0]!.endpoint.port).toBe(41234);
  });
});

describe('the capacity of a pod', () => {
  const context = { modelServers: [server], modelRoutes: [] };
  const withArgs = (...args: string[]) => {
    const pod = podOf('a', 0);
    return { ...pod, spec: { containers: [{ ...pod.spec.containers[0]!, args: ['--model', 'Qwen/Qwen3-8B', ...args] }] } };
  };

  it('is read from its flags', () => {
    const capacity = capacityOfPod(
      withArgs('--max-num-seqs', '8', '--num-gpu-blocks-override', '100', '--block-size', '32'),
      context,
    );
    expect(capacity).toMatchObject({ maxNumSeqs: 8, kvCapacityTokens: 3200 });
  });

  it('is slower on a slower accelerator', () => {
    const on = (accelerator: string) => {
      const pod = withArgs();
      return capacityOfPod(
        { ...pod, metadata: { ...pod.metadata, annotations: { [Annotations.accelerator]: accelerator } } },
        context,
      );
    };
    expect(on('L4-24GB').prefillTokensPerSecond).toBeLessThan(on('H100-SXM-80GB').prefillTokensPerSecond / 2);
    expect(on('L4-24GB').decodeBaseSeconds).toBeGreaterThan(on('H100-SXM-80GB').decodeBaseSeconds);
  });

  it('is something even for a pod that tells nothing', () => {
    const pod = { ...podOf('a', 0), spec: { containers: [] } };
    for (const value of Object.values(capacityOfPod(pod, { modelServers: [], modelRoutes: [] })))
      expect(value).toBeGreaterThan(0);
  });
});
