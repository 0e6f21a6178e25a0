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
  ModelSource,
  NodeLabels,
} from 'kvasir';

const app = new GitOpsApp({
  folder: 'quickstart',
  cluster: Cluster.of({ kubernetes: '1.31', nodeLabels: NodeLabels.nvidia() }),
  images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' }, // where you pushed images/router and images/autoscaler
});

const system = new Chart(app, 'kvasir-system', { namespace: 'kvasir-system' });
new InferencePlatform(system, 'platform', { router: { replicas: 2 } });

const models = new Chart(app, 'models', { namespace: 'llm' });
new ModelBooster(models, 'qwen3-8b', {
  source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
  engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
  pools: {
    l40s: { accelerator: Accelerator.L40S_48GB, gpusPerPod: 1, costPerReplicaHour: 1.2, replicas: between(1, 4) },
  },
  scaleOn: [Metric.runningRequests(8)],
});

app.synth();
