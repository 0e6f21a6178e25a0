import { Chart } from 'cdk8s';
import {
  Accelerator,
  between,
  Cluster,
  Engine,
  GitOpsApp,
  type GitOpsAppProps,
  InferencePlatform,
  Metric,
  ModelBooster,
  ModelSource,
  NodeLabels,
  Rollout,
  SecretRef,
} from '../../constructs';

/** A stack that uses every construct: a platform, a model on two pools, a model of fixed size on SGLang, a custom engine on a claim. */
export function sampleStack(props: GitOpsAppProps = {}) {
  const app = new GitOpsApp({
    cluster: Cluster.of({ kubernetes: '1.31', nodeLabels: NodeLabels.nvidia() }),
    images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' },
    ...props,
  });
  const system = new Chart(app, 'kvasir-system', { namespace: 'kvasir-system' });
  const platform = new InferencePlatform(system, 'platform', { router: { config: { drain: { timeoutMs: 60_000 } } } });
  const models = new Chart(app, 'models', { namespace: 'llm' });
  const qwen = new ModelBooster(models, 'qwen3-8b', {
    source: ModelSource.huggingFace('Qwen/Qwen3-8B', {
      revision: 'b968826d9c46dd6066d109eabc6255188de91218',
      token: SecretRef.existing('hf', 'token'),
    }),
    engine: Engine.vllm('0.32.0', { maxModelLen: 32_768, extraArgs: ['--enforce-eager'] }),
    pools: {
      h100: {
        accelerator: Accelerator.H100_SXM_80GB,
        gpusPerPod: 2,
        costPerReplicaHour: 8.2,
        replicas: between(0, 4),
        rollout: Rollout.surge(1),
        priorityClassName: 'serving',
      },
      l40s: {
        accelerator: Accelerator.L40S_48GB,
        costPerReplicaHour: 1.2,
        replicas: between(1, 8),
        env: { VLLM_LOGGING_LEVEL: 'WARNING' },
      },
    },
    scaleOn: [Metric.runningRequests(24), Metric.kvCacheUsage(0.8)],
    route: { loraAdapters: ['qwen3-8b-sql'], parentRefs: [{ name: 'inference', namespace: 'gateways' }] },
    traffic: { timeoutMs: 90_000, retry: { attempts: 3, intervalMs: 250 } },
  });
  const llama = new ModelBooster(models, 'llama', {
    source: ModelSource.huggingFace('meta-llama/Llama-3.1-8B-Instruct', { revision: '0e9e39f249a16976918f6564b8830bc894c89659' }),
    engine: Engine.sglang('0.5.23'),
    pools: { h100: { accelerator: Accelerator.H100_SXM_80GB, replicas: 2 } },
  });
  const own = new ModelBooster(models, 'own', {
    source: ModelSource.pvc('weights', 'own/v3', { shape: 'Qwen/Qwen3-8B' }),
    engine: Engine.custom({
      image: 'registry.example.com/own-server:1.2.3',
      argv: ['serve', '--model={model}', '--name={name}'],
      port: 9000,
      metrics: { runningRequests: 'own_running' },
    }),
    pools: { mi300x: { accelerator: Accelerator.MI300X_192GB, replicas: between(1, 2), security: { runAsImageUser: true } } },
    scaleOn: [Metric.runningRequests(16)],
  });
  return { app, system, models, platform, qwen, llama, own };
}
