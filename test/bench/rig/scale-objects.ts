import { Annotations } from '../../../src/labels';

/** Families of the recorded page that the exporter makes up for each engine. */
export const RUNNING = 'vllm:num_requests_running';
export const WAITING = 'vllm:num_requests_waiting';

export interface ScaleOptions {
  readonly policies: number;
  readonly podsPerPolicy: number;
  /** Of the exporter, on every address. */
  readonly port: number;
  /** `vllm:generation_tokens_total` of the recorded page: what each engine generates per second. */
  readonly tokensPerSecond: number;
}

const NAMESPACE = 'llm';
/** Time to the first token in the recorded page, 95th percentile. */
const TTFT_SECONDS = 0.055;
/** What the policies read, by turns. */
const KINDS = ['running', 'running', 'running', 'running', 'running', 'running', 'ttft', 'ttft', 'tokens', 'slo'] as const;

export function policyName(policy: number): string {
  return `model-${policy}`;
}

/** Number of an engine → its loopback address. */
function addressOf(engine: number): string {
  return `127.1.${engine >> 8}.${engine & 255}`;
}

/** Policies of which each scales a Deployment that a ModelServer selects, and their pods, all in one namespace. */
export function scaleObjects(options: ScaleOptions): readonly object[] {
  return Array.from({ length: options.policies }, (_, policy) => objectsOf(policy, options)).flat();
}

function objectsOf(policy: number, { podsPerPolicy, port, tokensPerSecond }: ScaleOptions): readonly object[] {
  const name = policyName(policy);
  const labels = { app: name, 'app.kubernetes.io/part-of': 'chat', 'kvasir.dev/model': name };
  const annotations = { [Annotations.accelerator]: 'H100-SXM-80GB', [Annotations.modelShape]: 'Qwen/Qwen3-8B' };
  const spec = podSpec(name, port);
  const metadata = { name, namespace: NAMESPACE };
  const pods = Array.from({ length: podsPerPolicy }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-7c9d8b6f5d-${i}`,
      namespace: NAMESPACE,
      labels: { ...labels, 'pod-template-hash': '7c9d8b6f5d' },
      annotations,
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${name}-7c9d8b6f5d`, uid: name, controller: true }],
    },
    spec,
    status: podStatus(addressOf(policy * podsPerPolicy + i)),
  }));
  const template = { metadata: { labels, annotations }, spec };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { replicas: podsPerPolicy, selector: { matchLabels: labels }, template },
    },
    {
      apiVersion: 'networking.serving.volcano.sh/v1alpha1',
      kind: 'ModelServer',
      metadata,
      spec: { inferenceEngine: 'vLLM', workloadSelector: { matchLabels: { app: name } }, workloadPort: { port } },
    },
    {
      apiVersion: 'workload.serving.volcano.sh/v1alpha1',
      kind: 'AutoscalingPolicy',
      metadata,
      spec: { tolerancePercent: 30, ...policySpec(policy, name, podsPerPolicy, port, tokensPerSecond) },
    },
    ...pods,
  ];
}

function policySpec(policy: number, name: string, pods: number, port: number, tokensPerSecond: number): object {
  const kind = KINDS[policy % KINDS.length]!;
  const source = (family: string): object => ({ pod: { name: family, port } });
  const running = { metric: { name: 'running', targetValue: 10 }, source: source(RUNNING) };
  const second = {
    running: undefined,
    ttft: { metric: { name: 'ttft', targetValue: String(TTFT_SECONDS) }, source: source('vllm:time_to_first_token_seconds') },
    tokens: { metric: { name: 'tokens', targetValue: String(tokensPerSecond) }, source: source('vllm:generation_tokens_total') },
    slo: undefined,
  }[kind];
  const metrics = second === undefined ? [running] : [running, second];
  return {
    metrics: metrics.map(({ metric }) => metric),
    homogeneousTarget: {
      target: {
        targetRef: { kind: 'Deployment', name },
        metricSources: Object.fromEntries(metrics.map(({ metric, source: from }) => [metric.name, from])),
      },
      minReplicas: 1,
      maxReplicas: 4 * pods,
    },
    ...(kind === 'slo' && { slo: { itlMs: 200 } }),
  };
}

function podSpec(name: string, port: number): object {
  return {
    containers: [
      {
        name: 'engine',
        image: 'vllm/vllm-openai:v0.32.0',
        args: ['--model', 'Qwen/Qwen3-8B', '--served-model-name', name, '--port', String(port), '--max-num-seqs', '256'],
        ports: [{ name: 'http', containerPort: port, protocol: 'TCP' }],
        resources: { limits: { cpu: '8', memory: '64Gi', 'nvidia.com/gpu': 1 }, requests: { cpu: '8', memory: '64Gi' } },
        readinessProbe: { httpGet: { path: '/health', port: 'http' }, periodSeconds: 5, timeoutSeconds: 3 },
        startupProbe: { httpGet: { path: '/health', port: 'http' }, periodSeconds: 5, failureThreshold: 360 },
        volumeMounts: [
          { name: 'weights', mountPath: '/models', readOnly: true },
          { name: 'shm', mountPath: '/dev/shm' },
        ],
      },
    ],
    volumes: [
      { name: 'weights', persistentVolumeClaim: { claimName: 'weights', readOnly: true } },
      { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '16Gi' } },
    ],
    terminationGracePeriodSeconds: 330,
  };
}

function podStatus(podIP: string): object {
  const since = '2026-11-30T12:00:00Z';
  const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: since,
  }));
  const containerStatuses = [
    { name: 'engine', ready: true, restartCount: 0, image: 'vllm/vllm-openai:v0.32.0', state: { running: { startedAt: since } } },
  ];
  return { phase: 'Running', podIP, podIPs: [{ ip: podIP }], startTime: since, conditions, containerStatuses };
}
