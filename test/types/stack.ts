/**
 * Typical mistakes of a stack's author, each below the line that is right. `wrong-props.test.ts` compiles this file against the package's
 * declarations and reads from the comments which error the compiler has to report in the next line.
 */
import { Chart } from 'cdk8s';
import {
  Accelerator,
  AutoscalingPolicy,
  between,
  Cluster,
  Engine,
  ExternalModelProvider,
  GitOpsApp,
  InferencePlatform,
  KvConnector,
  Metric,
  ModelBooster,
  ModelRoute,
  ModelSource,
  PDGroup,
  Rollout,
  Router,
  SecretRef,
} from 'kvasir';
import { decodeKind } from 'kvasir/api';
import { synth } from 'kvasir/testing';

Cluster.of({ kubernetes: '1.31', kthena: 'absent' });
// @ts-expect-error TS2322: Type '"perhaps"' is not assignable to type 'KthenaPresence | undefined'
Cluster.of({ kubernetes: '1.31', kthena: 'perhaps' });

const app = new GitOpsApp({ cluster: Cluster.of({ kubernetes: '1.31' }) });
const chart = new Chart(app, 'models', { namespace: 'llm' });

const engine = Engine.vllm('0.32.0', { maxModelLen: 32_768 });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'
Engine.vllm('0.32.0', { maxModelLen: '32k' });
// @ts-expect-error TS2345: Argument of type 'number' is not assignable to parameter of type 'string'
Engine.sglang(0.5);

const source = ModelSource.huggingFace('Qwen/Qwen3-8B', { token: SecretRef.existing('hf', 'token') });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'SecretRef'
ModelSource.huggingFace('Qwen/Qwen3-8B', { token: 'hf_secret' });

const pool = { accelerator: Accelerator.H100_SXM_80GB, replicas: between(1, 4) };
// @ts-expect-error TS2339: Property 'H100_80GB' does not exist on type 'typeof Accelerator'
Accelerator.H100_80GB;

const scaleOn = [Metric.runningRequests(24)];
const model = new ModelBooster(chart, 'qwen', { source, engine, pools: { h100: pool }, scaleOn });
// @ts-expect-error TS2741: Property 'source' is missing
new ModelBooster(chart, 'no-source', { engine, pools: { h100: pool } });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'number | Replicas | undefined'
new ModelBooster(chart, 'replicas', { source, engine, pools: { h100: { ...pool, replicas: '2' } } });
// @ts-expect-error TS2561: but 'gpuPerPod' does not exist in type 'PoolProps'. Did you mean to write 'gpusPerPod'?
new ModelBooster(chart, 'unknown', { source, engine, pools: { h100: { accelerator: Accelerator.H100_SXM_80GB, gpuPerPod: 2 } } });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'Metric'
new ModelBooster(chart, 'metric', { source, engine, pools: { h100: pool }, scaleOn: ['running-requests'] });
// @ts-expect-error TS2740: Type 'Metric' is missing the following properties from type 'readonly Metric[]'
new ModelBooster(chart, 'one-metric', { source, engine, pools: { h100: pool }, scaleOn: Metric.runningRequests(24) });

new ModelBooster(chart, 'rolled', { source, engine, pools: { h100: { ...pool, rollout: Rollout.surge(1) } }, scaleOn });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'Rollout'
new ModelBooster(chart, 'rollout', { source, engine, pools: { h100: { ...pool, rollout: 'surge' } }, scaleOn });

new ModelBooster(chart, 'bounded', { source, engine, pools: { h100: pool }, scaleOn, traffic: { timeoutMs: 30_000 } });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'number'
new ModelBooster(chart, 'duration', { source, engine, pools: { h100: pool }, scaleOn, traffic: { timeoutMs: '30s' } });

model.pools.h100.pod.addLabel('team', 'a');
// @ts-expect-error TS2339: Property 'l40s' does not exist
model.pools.l40s.pod.addLabel('team', 'a');

const connector = KvConnector.nixl();
new PDGroup(chart, 'split', { source, engine, connector, prefill: pool, decode: pool });
// @ts-expect-error TS2741: Property 'decode' is missing
new PDGroup(chart, 'no-decode', { source, engine, connector, prefill: pool });
// @ts-expect-error TS2322: Type 'string' is not assignable to type 'KvConnector'
new PDGroup(chart, 'connector', { source, engine, connector: 'nixl', prefill: pool, decode: pool });

const target = model.pools.h100;
new AutoscalingPolicy(chart, 'policy', { target, replicas: between(1, 4), metrics: [Metric.kvCacheUsage(0.8)] });
// @ts-expect-error TS2322: Type 'ModelRoute | undefined' is not assignable to type 'Scalable | undefined'
new AutoscalingPolicy(chart, 'target', { target: model.route, replicas: between(1, 4), metrics: [Metric.kvCacheUsage(0.8)] });

const provider = new ExternalModelProvider(chart, 'openai', { baseUrl: 'https://api.example.com' });
new ModelRoute(chart, 'route').splitTraffic([
  { server: model.server, weight: 9 },
  { provider, weight: 1 },
]);
// @ts-expect-error TS2322: is not assignable to type 'undefined'
new ModelRoute(chart, 'both').splitTraffic([{ server: model.server, provider }]);
new ModelRoute(chart, 'limited').limitTokens({ outputTokens: 1000, per: 'minute' });
// @ts-expect-error TS2322: Type '"fortnight"' is not assignable to type
new ModelRoute(chart, 'limits').limitTokens({ outputTokens: 1000, per: 'fortnight' });

new Router(chart, 'router', { config: { accessLog: { format: 'json' } } });
// @ts-expect-error TS2561: but 'acessLog' does not exist in type
new InferencePlatform(chart, 'platform', { router: { config: { acessLog: { format: 'json' } } } });

synth(chart).get('ModelRoute', 'qwen').spec.rules.length.toFixed();
// @ts-expect-error TS2551: Property 'rule' does not exist on type
synth(chart).get('ModelRoute', 'qwen').spec.rule.length.toFixed();

decodeKind('ModelServer', {});
// @ts-expect-error TS2345: Argument of type '"ModelServers"' is not assignable to parameter of type
decodeKind('ModelServers', {});
