import { Chart } from 'cdk8s';
import {
  Accelerator,
  between,
  Cluster,
  Engine,
  GitOpsApp,
  InferencePlatform,
  Metric,
  ModelBooster,
  ModelRoute,
  ModelSource,
} from 'kvasir';

const app = new GitOpsApp({
  folder: 'canary',
  cluster: Cluster.of({ kubernetes: '1.31' }),
  images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' },
});

const system = new Chart(app, 'kvasir-system', { namespace: 'kvasir-system' });
new InferencePlatform(system, 'platform');

const models = new Chart(app, 'models', { namespace: 'llm' });
const stable = new ModelBooster(models, 'qwen3-8b', {
  source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
  engine: Engine.vllm('0.20.2', { maxModelLen: 32_768 }),
  pools: { l40s: { accelerator: Accelerator.L40S_48GB, costPerReplicaHour: 1.2, replicas: between(2, 8) } },
  scaleOn: [Metric.runningRequests(8)],
  route: false,
});
// The same model on a newer engine, on one GPU until it is trusted.
const canary = new ModelBooster(models, 'qwen3-8b-next', {
  source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
  engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
  pools: { l40s: { accelerator: Accelerator.L40S_48GB, costPerReplicaHour: 1.2, replicas: 1 } },
  route: false,
});

// Half the memory for its KV cache. Nobody gets its answers: it is measured under copies of real requests.
const candidate = new ModelBooster(models, 'qwen3-8b-fp8-cache', {
  source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
  engine: Engine.vllm('0.32.0', { maxModelLen: 32_768, extraArgs: ['--kv-cache-dtype', 'fp8'] }),
  pools: { l40s: { accelerator: Accelerator.L40S_48GB, costPerReplicaHour: 1.2, replicas: 1 } },
  route: false,
});

// Clients ask for qwen3-8b; testers who send `x-canary: always` get the new one each time, all others in one of twenty requests.
// The candidate gets copies of every tenth.
new ModelRoute(models, 'route', { name: 'qwen3-8b' }).canary({
  stable: { server: stable.server },
  canary: { server: canary.server },
  percent: 5,
  optIn: { header: 'x-canary', value: 'always' },
  shadow: { server: candidate.server, percent: 10 },
});

app.synth();
