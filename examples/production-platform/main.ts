import { Chart } from 'cdk8s';
import {
  Accelerator,
  ArgoApplication,
  ArgoHealth,
  between,
  Cluster,
  Engine,
  GatewayRoute,
  GitOpsApp,
  InferencePlatform,
  Metric,
  ModelBooster,
  ModelCache,
  ModelSource,
  NetworkIsolation,
  Rollout,
  SecretRef,
} from 'kvasir';

const app = new GitOpsApp({
  folder: 'production-platform',
  cluster: Cluster.of({ kubernetes: '1.31' }),
  images: {
    registry: 'registry.example.com/kvasir',
    tag: '0.1.0',
    mirrors: { 'docker.io/': 'registry.example.com/hub/' }, // engines too come from the house registry
  },
  strict: true, // a warning that nobody acknowledged stops synth
});

// The platform: three routers behind the company's Gateway, watched, and the API server checks what people apply by hand.
const system = new Chart(app, 'kvasir-system', { namespace: 'kvasir-system' });
new InferencePlatform(system, 'platform', {
  router: { replicas: 3, cpu: '2', config: { accessLog: { format: 'json' }, limits: { requestsInFlight: 5_000 } } },
  monitoring: { labels: { release: 'prometheus' }, thresholds: { timeToFirstTokenSeconds: 5 } },
  admission: {},
});
new GatewayRoute(system, 'public', {
  gateways: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
  hostnames: ['llm.example.com'],
  backends: [{ service: 'kvasir-router' }],
});

// The models.
const models = new Chart(app, 'models', { namespace: 'llm' });
const token = SecretRef.existing('hugging-face', 'token');
const engine = Engine.vllm('0.32.0', { maxModelLen: 32_768 });
const cache = ModelCache.newClaim({ storageClass: 'shared-files' });

new ModelBooster(models, 'chat', {
  source: ModelSource.huggingFace('meta-llama/Llama-3.3-70B-Instruct', {
    revision: '6f6073b423013f6a7d4d9f39144961bfbfbc386b',
    token,
  }),
  engine,
  cache,
  pools: {
    h100: {
      accelerator: Accelerator.H100_SXM_80GB,
      gpusPerPod: 4,
      costPerReplicaHour: 16.4,
      replicas: between(2, 6),
      priorityClassName: 'production',
    },
  },
  scaleOn: [Metric.runningRequests(48), Metric.kvCacheUsage(0.85)],
});
new ModelBooster(models, 'assistant', {
  source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
  engine,
  cache,
  pools: {
    l40s: { accelerator: Accelerator.L40S_48GB, costPerReplicaHour: 1.2, replicas: between(2, 8), rollout: Rollout.surge(1) },
  },
  scaleOn: [Metric.runningRequests(8)],
});

// Nothing else may talk to either namespace.
new NetworkIsolation(system, 'isolation', {
  clients: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'gateways' } } }],
});
new NetworkIsolation(models, 'isolation');

// Argo CD keeps the cluster as this folder says, and leaves replicas to the autoscaler.
const argocd = new Chart(app, 'argocd', { namespace: 'argocd' });
new ArgoApplication(argocd, 'llm-platform', {
  source: { repoUrl: 'https://git.example.com/llm-platform.git', path: 'dist/production-platform', targetRevision: 'main' },
});
new ArgoHealth(argocd, 'health');

app.synth();
