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
} from 'kvasir';

const app = new GitOpsApp({
  folder: 'multi-node-deepseek',
  cluster: Cluster.of({ kubernetes: '1.31', leaderWorkerSet: { gang: 'volcano' }, volcano: true }),
  images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' },
});

const system = new Chart(app, 'kvasir-system', { namespace: 'kvasir-system' });
new InferencePlatform(system, 'platform');

const models = new Chart(app, 'models', { namespace: 'llm' });
const deepseek = new ModelBooster(models, 'deepseek-v3', {
  source: ModelSource.huggingFace('deepseek-ai/DeepSeek-V3', { revision: 'e815299b0bcbac849fa540c768ef21845365c9eb' }),
  engine: Engine.sglang('0.5.23'),
  cache: ModelCache.hostPath('/mnt/nvme/models'), // 688 GB: each node downloads them once; user 1000 may write there
  pools: {
    h100: {
      accelerator: Accelerator.H100_SXM_80GB,
      gpusPerPod: 8,
      podsPerReplica: 2, // its weights do not fit into one node's 640 GB
      parallelism: { tensor: 16 },
      gang: { scheduler: 'volcano', queue: 'llm' }, // both nodes of a replica, or neither
      costPerReplicaHour: 66,
      replicas: between(1, 3),
      security: { addCapabilities: ['IPC_LOCK'] }, // memory that RDMA reads is pinned
    },
  },
  scaleOn: [Metric.runningRequests(48)],
});
// The nodes talk over InfiniBand.
deepseek.pools.h100.pod.merge({
  containers: [{ name: 'engine', resources: { requests: { 'rdma/hca': '8' }, limits: { 'rdma/hca': '8' } } }],
});

app.synth();
