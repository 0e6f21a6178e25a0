import { Chart, Testing } from 'cdk8s';
import { ModelRoute, ModelServer } from '../../constructs';
import { matchers, synth } from '../../constructs/testing';

expect.extend(matchers);

function servers(...names: readonly string[]) {
  const chart = new Chart(Testing.app(), 'c');
  return {
    chart,
    made: names.map((name) => new ModelServer(chart, name, { engine: 'vLLM', podLabels: { app: name }, port: 8000 })),
  };
}

describe('a ModelRoute', () => {
  it('keeps rules in the order in which they were added, the split last', () => {
    const { chart, made } = servers('big', 'small');
    new ModelRoute(chart, 'chat', {
      modelName: 'Chat-1',
      rules: [{ name: 'vip', match: { headers: { tier: { exact: 'vip' } } }, targets: [{ server: made[0]! }] }],
    })
      .addRule({ name: 'long', match: { uri: { prefix: '/v1/long' } }, targets: [{ server: 'big' }] })
      .splitTraffic([
        { server: made[0]!, weight: 10 },
        { server: made[1]!, weight: 90 },
      ]);
    expect(synth(chart).get('ModelRoute', 'chat').spec).toEqual({
      modelName: 'Chat-1',
      rules: [
        {
          name: 'vip',
          modelMatch: { headers: { tier: { exact: 'vip' } } },
          targetModels: [{ modelServerName: 'big', weight: 100 }],
        },
        { name: 'long', modelMatch: { uri: { prefix: '/v1/long' } }, targetModels: [{ modelServerName: 'big', weight: 100 }] },
        {
          name: 'split',
          targetModels: [
            { modelServerName: 'big', weight: 10 },
            { modelServerName: 'small', weight: 90 },
          ],
        },
      ],
    });
  });

  it('refers to a server by the name of its object', () => {
    const { chart } = servers();
    const server = new ModelServer(chart, 'id', { name: 'named', engine: 'SGLang', podLabels: { app: 'x' }, port: 30_000 });
    new ModelRoute(chart, 'r').splitTraffic([{ server }]);
    expect(synth(chart)).toContainObject({
      kind: 'ModelRoute',
      spec: { modelName: 'r', rules: [{ targetModels: [{ modelServerName: 'named' }] }] },
    });
  });
});

describe('a ModelServer', () => {
  it('retries twice and has no deadline, unless it is told', () => {
    const { chart } = servers('s');
    new ModelServer(chart, 't', {
      engine: 'vLLM',
      podLabels: { app: 't' },
      port: 1,
      traffic: { timeoutMs: 90_000, retry: { attempts: 1, intervalMs: 1500 } },
    });
    const objects = synth(chart);
    expect(objects.get('ModelServer', 's').spec.trafficPolicy).toEqual({ retry: { attempts: 2, retryInterval: '100ms' } });
    expect(objects.get('ModelServer', 't').spec.trafficPolicy).toEqual({
      timeout: '1m30s',
      retry: { attempts: 1, retryInterval: '1s500ms' },
    });
  });
});
