import { Chart } from 'cdk8s';
import {
  Accelerator,
  between,
  Cluster,
  Engine,
  GitOpsApp,
  InferencePlatform,
  KvConnector,
  ModelSource,
  NodeLabels,
  PDGroup,
} from 'kvasir';

const app = new GitOpsApp({
  folder: 'prefill-decode',
  cluster: Cluster.of({ kubernetes: '1.31', nodeLabels: NodeLabels.nvidia(), volcano: true }),
  images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' }, // where you pushed images/router and images/autoscaler
});

const system = new Chart(app, 'kvasir-system', { namespace: 'kvasir-system' });
new InferencePlatform(system, 'platform', { router: { replicas: 2 } });

const models = new Chart(app, 'models', { namespace: 'llm' });
new PDGroup(models, 'llama-70b', {
  source: ModelSource.huggingFace('meta-llama/Llama-3.3-70B-Instruct', { revision: '6f6073b423013f6a7d4d9f39144961bfbfbc386b' }),
  engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
  // Long prompts want compute: few large batches. Answers want memory: many sequences.
  prefill: { accelerator: Accelerator.H100_SXM_80GB, gpusPerPod: 4, replicas: between(1, 3) },
  decode: { accelerator: Accelerator.H200_141GB, gpusPerPod: 4, replicas: between(1, 3) },
  connector: KvConnector.nixl({ network: { resource: 'rdma/hca', count: 4 } }),
  ratio: { min: 1 / 3, max: 3 },
  gang: { scheduler: 'volcano', topology: { mode: 'hard', highestTierAllowed: 1 } }, // one of each, near to each other, or none
});

app.synth();
