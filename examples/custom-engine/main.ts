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

// A GPU that the catalogue does not have, on nodes that a cloud labels in its own way.
const mi210 = Accelerator.of({ name: 'MI210-64GB', resourceName: 'amd.com/gpu', memoryGiB: 64 });

const app = new GitOpsApp({
  folder: 'custom-engine',
  cluster: Cluster.of({
    kubernetes: '1.31',
    nodeLabels: NodeLabels.of({ [mi210.name]: { 'cloud.example.com/gpu-model': 'mi210' } }),
  }),
  images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' },
});

const system = new Chart(app, 'kvasir-system', { namespace: 'kvasir-system' });
new InferencePlatform(system, 'platform');

const models = new Chart(app, 'models', { namespace: 'llm' });
const house = new ModelBooster(models, 'house-model', {
  source: ModelSource.pvc('weights', 'house-model/v3'), // a claim that already holds it
  // Anything that speaks the OpenAI API: the words of its command line, its port, and the gauge that it is scaled by.
  engine: Engine.custom({
    image: 'registry.example.com/ml/house-server:2.3.1',
    argv: ['--weights={model}', '--name={name}', '--shards', '{tensorParallel}', '--listen', '0.0.0.0:9000'],
    port: 9000,
    healthPath: '/ready',
    metrics: { runningRequests: 'house_requests_running' },
  }),
  pools: { mi210: { accelerator: mi210, gpusPerPod: 2, costPerReplicaHour: 2.8, replicas: between(1, 3), startupSeconds: 600 } },
  scaleOn: [Metric.runningRequests(12)],
});
house.pools.mi210.pod.merge({ containers: [{ name: 'engine', env: [{ name: 'HSA_NO_SCRATCH_RECLAIM', value: '1' }] }] });

app.synth();
