import { Chart } from 'cdk8s';
import {
  Accelerator,
  between,
  Cluster,
  Engine,
  GitOpsApp,
  InferencePlatform,
  LoraAdapter,
  Metric,
  ModelBooster,
  ModelCache,
  ModelSource,
  SecretRef,
} from 'kvasir';

const app = new GitOpsApp({
  folder: 'lora-tenants',
  cluster: Cluster.of({ kubernetes: '1.31' }),
  images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' },
});

const system = new Chart(app, 'kvasir-system', { namespace: 'kvasir-system' });
new InferencePlatform(system, 'platform');

const token = SecretRef.existing('hugging-face', 'token');
/** Each tenant asks for its own model, and all of them share the GPUs of one. */
const tenants = ['bank', 'clinic', 'court', 'school'].map((tenant) =>
  LoraAdapter.of(`assistant-${tenant}`, ModelSource.huggingFace(`example-org/assistant-${tenant}-lora`, { token }), { rank: 32 }),
);

const models = new Chart(app, 'models', { namespace: 'llm' });
new ModelBooster(models, 'assistant', {
  source: ModelSource.huggingFace('meta-llama/Llama-3.1-8B-Instruct', {
    revision: '0e9e39f249a16976918f6564b8830bc894c89659',
    token,
  }),
  engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
  adapters: tenants,
  cache: ModelCache.newClaim({ storageClass: 'shared-files' }),
  pools: { l40s: { accelerator: Accelerator.L40S_48GB, costPerReplicaHour: 1.2, replicas: between(1, 6) } },
  scaleOn: [Metric.runningRequests(16), Metric.kvCacheUsage(0.85)],
});

app.synth();
