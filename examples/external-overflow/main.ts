import { Chart } from 'cdk8s';
import {
  Accelerator,
  between,
  Cluster,
  Engine,
  ExternalModelProvider,
  GitOpsApp,
  InferencePlatform,
  Metric,
  ModelBooster,
  ModelRoute,
  ModelSource,
  SecretRef,
} from 'kvasir';

const app = new GitOpsApp({
  folder: 'external-overflow',
  cluster: Cluster.of({ kubernetes: '1.31' }),
  images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' },
});

const system = new Chart(app, 'kvasir-system', { namespace: 'kvasir-system' });
new InferencePlatform(system, 'platform');

const models = new Chart(app, 'models', { namespace: 'llm' });
const local = new ModelBooster(models, 'qwen3-8b', {
  source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
  engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
  pools: { l40s: { accelerator: Accelerator.L40S_48GB, costPerReplicaHour: 1.2, replicas: between(1, 4) } },
  scaleOn: [Metric.runningRequests(8)],
  route: false,
});
// The Secret carries ExternalModelProvider.secretLabels, and comes from your secret store.
const cloud = new ExternalModelProvider(models, 'cloud', {
  baseUrl: 'https://api.example.com',
  model: 'qwen3-8b-turbo',
  credential: SecretRef.existing('cloud', 'token'),
});

// What may leave the cluster says so, and a fifth of it does; everything else stays on own GPUs.
new ModelRoute(models, 'route', { name: 'qwen3-8b' })
  .addRule({
    name: 'may-leave',
    match: { headers: { 'x-data-class': { exact: 'public' } } },
    targets: [
      { server: local.server, weight: 80 },
      { provider: cloud, weight: 20 },
    ],
  })
  .addRule({ name: 'stays', targets: [{ server: local.server }] });

app.synth();
