import { Chart } from 'cdk8s';
import {
  Accelerator,
  Cluster,
  Engine,
  GitOpsApp,
  KvConnector,
  LoraAdapter,
  ModelBooster,
  type ModelBoosterProps,
  ModelCache,
  ModelRoute,
  ModelSource,
} from '../../constructs';
import { cacheFolder } from '../../constructs/model-weights';
import { synth } from '../../constructs/testing';
import { expandWorkload, planEngine } from '../../src/expand';

const revision = '0e9e39f249a16976918f6564b8830bc894c89659';
const sql = LoraAdapter.of('llama-sql', ModelSource.huggingFace('acme/llama-sql', { revision }), { rank: 20 });
const chat = LoraAdapter.of('llama-chat', ModelSource.huggingFace('acme/llama-chat', { revision }));

function stack(props: Partial<ModelBoosterProps<string>> = {}) {
  const app = new GitOpsApp({ cluster: Cluster.of({ leaderWorkerSet: true }) });
  const chart = new Chart(app, 'c', { namespace: 'llm' });
  const made = new ModelBooster(chart, 'llama', {
    source: ModelSource.huggingFace('meta-llama/Llama-3.1-8B-Instruct', { revision }),
    engine: Engine.vllm('0.32.0', { maxModelLen: 8192 }),
    pools: { a: { accelerator: Accelerator.L40S_48GB } },
    adapters: [sql, chat],
    ...props,
  });
  return { app, chart, made };
}

function argsOf({ chart }: ReturnType<typeof stack>): readonly string[] {
  const { template } = synth(chart).get('Deployment', 'llama-a').spec as {
    readonly template: { readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] } };
  };
  return template.spec.containers[0]!.args;
}

const codes = ({ app }: ReturnType<typeof stack>) =>
  app.check().open.map(({ severity, code, object }) => `${severity} ${code} ${object}`);

describe('LoRA adapters of a ModelBooster', () => {
  it('are flags of vLLM, with the next rank that it takes', () => {
    const args = argsOf(stack());
    expect(args.slice(args.indexOf('--enable-lora')).join(' ')).toBe(
      '--enable-lora --lora-modules llama-sql=acme/llama-sql llama-chat=acme/llama-chat --max-loras 2 --max-lora-rank 32',
    );
  });

  it('are flags of SGLang', () => {
    const args = argsOf(stack({ engine: Engine.sglang('0.5.23', { maxModelLen: 8192 }), maxLoras: 1 }));
    expect(args.slice(args.indexOf('--enable-lora')).join(' ')).toBe(
      '--enable-lora --lora-paths llama-sql=acme/llama-sql llama-chat=acme/llama-chat --max-loras-per-batch 1 --max-lora-rank 20',
    );
  });

  it('have names on the route, beside those given by hand', () => {
    const { chart } = stack({ route: { loraAdapters: ['llama-old', 'llama-sql'] } });
    expect(synth(chart).get('ModelRoute', 'llama').spec.loraAdapters).toEqual(['llama-old', 'llama-sql', 'llama-chat']);
  });

  it('are read back from the pods by the preview and the checks', () => {
    const [pod] = expandWorkload(synth(stack().chart).get('Deployment', 'llama-a'))!.pods;
    expect(planEngine(pod!.pod, { modelServers: [], modelRoutes: [] })).toMatchObject({
      adapters: { 'llama-sql': 'acme/llama-sql', 'llama-chat': 'acme/llama-chat' },
      maxLoras: 2,
      maxLoraRank: 32,
    });
  });

  it('are downloaded with the model into its cache', () => {
    const download = { image: 'registry.example.com/kvasir/kvasir-downloader:0.1.0' };
    const made = stack({ cache: ModelCache.newClaim(), download });
    expect(argsOf(made)).toContain(`llama-sql=${cacheFolder('/llama-cache', sql.source)}`);
    const { template } = synth(made.chart).get('Deployment', 'llama-a').spec as {
      readonly template: { readonly spec: { readonly initContainers: readonly { readonly name: string }[] } };
    };
    expect(template.spec.initContainers.map(({ name }) => name)).toEqual([
      'model-downloader',
      'adapter-downloader-1',
      'adapter-downloader-2',
    ]);
  });

  it('are loaded by both roles of a disaggregated model, one with an engine of its own', () => {
    const role = { accelerator: Accelerator.L40S_48GB };
    const { chart } = stack({
      pools: undefined,
      disaggregation: {
        prefill: { ...role, engine: Engine.vllm('0.32.0', { maxModelLen: 8192, maxNumSeqs: 8 }) },
        decode: role,
        connector: KvConnector.nixl(),
      },
    });
    const loaded = synth(chart)
      .ofKind('Deployment')
      .map((deployment) => planEngine(expandWorkload(deployment)!.pods[0]!.pod, { modelServers: [], modelRoutes: [] }))
      .map((plan) => Object.keys(plan!.adapters));
    expect(loaded).toEqual(Array(2).fill(['llama-sql', 'llama-chat']));
  });

  it('are loaded by every pod of a replica', () => {
    const { chart } = stack({ pools: { a: { accelerator: Accelerator.L40S_48GB, podsPerReplica: 2 } } });
    expect(JSON.stringify(synth(chart).get('LeaderWorkerSet', 'llama-a')).match(/--lora-modules/g)).toHaveLength(2);
  });

  it('raise no finding when all is well', () => {
    expect(codes(stack())).toEqual([]);
  });

  const own = Engine.custom({ image: 'r.example.com/own:1', argv: ['serve', '{model}'], port: 8000 });
  it.each([
    ['lora/rank', { adapters: [LoraAdapter.of('wide', sql.source, { rank: 1024 })] }, 'error'],
    ['lora/name-taken', { adapters: [LoraAdapter.of('llama', sql.source)] }, 'error'],
    ['lora/own-flags', { engine: own }, 'info'],
  ] as const)('%s', (code, props, severity) => {
    expect(codes(stack(props))).toEqual([`${severity} ${code} c/llama${code === 'lora/name-taken' ? '' : '/a'}`]);
  });

  it('that a route names and no engine loads are found, with the route', () => {
    const made = stack();
    new ModelRoute(made.chart, 'by-hand', { modelName: 'by-hand', loraAdapters: ['llama-sq'] }).splitTraffic([
      { server: made.made.server },
    ]);
    expect(codes(made)).toEqual(['warning lora/not-served c/by-hand/Resource (ModelRoute llm/by-hand)']);
  });

  it.each([
    ['a name with =', () => LoraAdapter.of('a=b', sql.source)],
    ['half a rank', () => LoraAdapter.of('a', sql.source, { rank: 0.5 })],
  ])('refuse %s', (_, make) => {
    expect(make).toThrow(RangeError);
  });
});
