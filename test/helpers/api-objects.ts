/** Small valid objects of each kind, and a way to change one field of them. */

export const modelRoute = {
  apiVersion: 'networking.serving.volcano.sh/v1alpha1',
  kind: 'ModelRoute',
  metadata: { name: 'chat', namespace: 'models' },
  spec: { modelName: 'chat', rules: [{ targetModels: [{ modelServerName: 'chat' }] }] },
};

export const modelServer = {
  apiVersion: 'networking.serving.volcano.sh/v1alpha1',
  kind: 'ModelServer',
  metadata: { name: 'chat', namespace: 'models' },
  spec: { inferenceEngine: 'vLLM', workloadSelector: { matchLabels: { app: 'chat' } }, workloadPort: { port: 8000 } },
};

export const externalModelProvider = {
  apiVersion: 'networking.serving.volcano.sh/v1alpha1',
  kind: 'ExternalModelProvider',
  metadata: { name: 'cloud', namespace: 'models' },
  spec: { baseURL: 'https://api.example.com', auth: { secretRef: { name: 'cloud', key: 'token' } } },
};

export const autoscalingPolicy = {
  apiVersion: 'workload.serving.volcano.sh/v1alpha1',
  kind: 'AutoscalingPolicy',
  metadata: { name: 'chat', namespace: 'models' },
  spec: {
    metrics: [{ name: 'running', targetValue: 10 }],
    homogeneousTarget: { target: { targetRef: { name: 'chat' } }, minReplicas: 1, maxReplicas: 4 },
  },
};

const role = () => ({ minReplicas: 1, maxReplicas: 4, metricSources: { running: { pod: {} } } });

export const disaggregatedPolicy = {
  ...autoscalingPolicy,
  spec: {
    metrics: [{ name: 'running', targetValue: 10 }],
    disaggregatedTarget: {
      targetRef: { name: 'chat' },
      roles: { prefill: role(), decode: role() },
      ratioConstraint: { numeratorRole: 'prefill', denominatorRole: 'decode', minRatio: '0.5', maxRatio: 2 },
    },
  },
};

export const autoscalingPolicyBinding = {
  apiVersion: 'workload.serving.volcano.sh/v1alpha1',
  kind: 'AutoscalingPolicyBinding',
  metadata: { name: 'chat', namespace: 'models' },
  spec: {
    policyRef: { name: 'shared' },
    homogeneousTarget: { target: { targetRef: { name: 'chat' } }, minReplicas: 1, maxReplicas: 4 },
  },
};

export const modelBooster = {
  apiVersion: 'workload.serving.volcano.sh/v1alpha1',
  kind: 'ModelBooster',
  metadata: { name: 'chat', namespace: 'models' },
  spec: {
    backend: {
      name: 'gpu',
      type: 'vLLM',
      modelURI: 'hf://Qwen/Qwen3-8B',
      cacheURI: 'hostpath:///cache',
      replicas: 1,
      workers: [{ type: 'server', image: 'vllm:1', replicas: 1, pods: 1, config: {} }],
    },
  },
};

const kvTransfer = (role: string) => ({ 'kv-transfer-config': JSON.stringify({ kv_connector: 'NixlConnector', kv_role: role }) });

export const disaggregatedBooster = {
  ...modelBooster,
  spec: {
    backend: {
      ...modelBooster.spec.backend,
      type: 'vLLMDisaggregated',
      workers: [
        { type: 'prefill', image: 'vllm:1', config: kvTransfer('kv_producer') },
        { type: 'decode', image: 'vllm:1', config: kvTransfer('kv_consumer') },
      ],
    },
  },
};

export const modelServing = {
  apiVersion: 'workload.serving.volcano.sh/v1alpha1',
  kind: 'ModelServing',
  metadata: { name: 'chat', namespace: 'models' },
  spec: {
    replicas: 2,
    template: {
      roles: [
        {
          name: 'server',
          replicas: 2,
          entryTemplate: { metadata: { labels: { app: 'chat' } }, spec: { containers: [{ name: 'engine', image: 'vllm:1' }] } },
          workerReplicas: 0,
        },
      ],
    },
  },
};

/** A copy of `object` with `path` (dotted, `[i]` for list items) set to `value`; undefined removes the field. */
export function withField<T extends object>(object: T, path: string, value: unknown): T {
  const copy = structuredClone(object);
  const keys = path.split(/[.[\]]+/).filter((key) => key !== '');
  let at = copy as Record<string, unknown>;
  for (const key of keys.slice(0, -1)) {
    at[key] ??= {};
    at = at[key] as Record<string, unknown>;
  }
  const last = keys.at(-1)!;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

/** A copy of `object` with several fields set. */
export function withFields<T extends object>(object: T, fields: Readonly<Record<string, unknown>>): T {
  return Object.entries(fields).reduce((copy, [path, value]) => withField(copy, path, value), object);
}
