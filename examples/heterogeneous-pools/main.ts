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
  ModelCache,
  ModelSource,
  Rollout,
} from 'kvasir';

const app = new GitOpsApp({
  folder: 'heterogeneous-pools',
  cluster: Cluster.of({ kubernetes: '1.31' }),
  images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' },
});

const system = new Chart(app, 'kvasir-system', { namespace: 'kvasir-system' });
new InferencePlatform(system, 'platform', { router: { replicas: 2 } });

const models = new Chart(app, 'models', { namespace: 'llm' });
const qwen = new ModelBooster(models, 'qwen3-8b', {
  source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
  engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
  cache: ModelCache.newClaim({ storageClass: 'shared-files' }), // downloaded once, mounted by the pods of both pools
  // One model, one name, one router that sends each request where its answer comes soonest. The autoscaler grows the cheaper pool first.
  pools: {
    h100: {
      accelerator: Accelerator.H100_SXM_80GB,
      costPerReplicaHour: 4.1,
      replicas: between(0, 4),
      rollout: Rollout.inPlace(1), // no spare H100
    },
    l40s: { accelerator: Accelerator.L40S_48GB, costPerReplicaHour: 1.2, replicas: between(1, 8), rollout: Rollout.surge(1) },
  },
  scaleOn: [Metric.runningRequests(24)],
});
qwen.pools.h100.pod.merge({ tolerations: [{ key: 'reserved-for', operator: 'Equal', value: 'llm', effect: 'NoSchedule' }] });

app.synth();
