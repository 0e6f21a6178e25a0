import type { ModelServer } from '../../../src/api/model-server';
import type { Pod } from '../../../src/api/pod';
import { ACCELERATORS, type Accelerator, acceleratorNamed } from '../../../src/catalog/accelerators';
import { modelShapeOrDefault } from '../../../src/catalog/models';
import { gpusNeeded, kvCapacityTokens, stepTimeOf } from '../../../src/catalog/step-time';
import { KvasirError } from '../../../src/errors';
import type { EnginePlan } from '../../../src/expand/engine-plan';
import { planEngine } from '../../../src/expand/plan-engine';
import { Annotations, NETWORKING_API_VERSION } from '../../../src/labels';
import type { Kind, KindMap, Objects } from '../../cluster/objects';
import type { Clock } from '../../lib/clock';
import { EngineCore } from '../../simulator/engine-core';
import { type EngineLimits, engineLimits } from '../../simulator/engine-limits';

export interface FleetOptions {
  readonly replicas: number;
  /** Name of a model shape of the catalogue. */
  readonly model: string;
  /** Name of an accelerator of the catalogue. */
  readonly accelerator: string;
  /** Tokens of KV cache per replica. @default what fits beside the weights */
  readonly kvTokens?: number;
}

const NAMESPACE = 'default';
const LABELS = { app: 'compared' };
const PORT = 8000;

/** What all replicas of a fleet have in common. */
export class FixedFleet {
  readonly modelServerKey = `${NAMESPACE}/compared`;
  readonly limits: EngineLimits;
  private readonly server: ModelServer;
  private readonly pods: readonly Pod[];
  private readonly plan: EnginePlan;
  private readonly accelerator: Accelerator;

  /** @throws KvasirError when the catalogue has no such accelerator. */
  constructor(private readonly options: FleetOptions) {
    this.accelerator = knownAccelerator(options.accelerator);
    this.server = {
      apiVersion: NETWORKING_API_VERSION,
      kind: 'ModelServer',
      metadata: { name: 'compared', namespace: NAMESPACE },
      spec: {
        model: options.model,
        inferenceEngine: 'vLLM',
        workloadSelector: { matchLabels: LABELS },
        workloadPort: { port: PORT, protocol: 'http' },
      },
    };
    this.pods = Array.from({ length: options.replicas }, (_, i) => this.pod(i));
    this.plan = planEngine(this.pods[0]!, { modelServers: [this.server], modelRoutes: [] })!;
    this.limits = engineLimits(this.plan);
  }

  /** The fleet as a cluster that never changes. */
  objects(): Objects {
    const byKind: Partial<{ readonly [K in Kind]: readonly KindMap[K][] }> = { Pod: this.pods, ModelServer: [this.server] };
    const list = <K extends Kind>(kind: K): readonly KindMap[K][] => (byKind[kind] ?? []) as readonly KindMap[K][];
    return {
      list,
      get: (kind, namespace, name) =>
        list(kind).find(({ metadata }) => metadata.name === name && (metadata.namespace ?? NAMESPACE) === namespace),
      changed: () => () => undefined,
      freshness: () => ({ isSynced: true, ageMs: 0 }),
    };
  }

  /** A new engine for each replica, by pod name. */
  engines(clock: Clock): ReadonlyMap<string, EngineCore> {
    const { shape } = modelShapeOrDefault(this.plan.model);
    const gpus = this.plan.gpus;
    const stepTime = stepTimeOf(shape, this.accelerator, gpus);
    const numBlocks = Math.ceil(this.kvTokens() / this.limits.blockSize);
    const { enablePrefixCaching, maxLoras } = this.plan;
    return new Map(
      this.pods.map(({ metadata }) => [
        metadata.name,
        new EngineCore({ clock, stepTime, numBlocks, enablePrefixCaching, maxLoras, ...this.limits }),
      ]),
    );
  }

  /** A metrics page of one engine, as far as a router reads it. */
  metricsPage(engine: EngineCore): string {
    const { running, waiting, kvUsage, totalBlocks } = engine.stats();
    return [
      `vllm:num_requests_running{engine="0"} ${running}`,
      `vllm:num_requests_waiting{engine="0"} ${waiting}`,
      `vllm:kv_cache_usage_perc{engine="0"} ${kvUsage}`,
      `vllm:cache_config_info{block_size="${this.limits.blockSize}",engine="0",num_gpu_blocks="${totalBlocks}"} 1`,
      '',
    ].join('\n');
  }

  private kvTokens(): number {
    const { shape } = modelShapeOrDefault(this.plan.model);
    return this.options.kvTokens ?? kvCapacityTokens(shape, this.accelerator, this.plan.gpus, this.plan.gpuMemoryUtilization);
  }

  private pod(index: number): Pod {
    const { model } = this.options;
    const gpus = gpusNeeded(modelShapeOrDefault(model).shape, this.accelerator);
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `compared-${index}`,
        namespace: NAMESPACE,
        uid: `compared-${index}`,
        labels: LABELS,
        annotations: { [Annotations.accelerator]: this.accelerator.name },
      },
      spec: {
        containers: [
          {
            name: 'engine',
            image: 'vllm/vllm-openai:latest',
            args: ['--model', model],
            resources: { limits: { [this.accelerator.resourceName]: gpus } },
          },
        ],
      },
      status: { phase: 'Running', podIP: '127.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
    };
  }
}

function knownAccelerator(name: string): Accelerator {
  const accelerator = acceleratorNamed(name);
  if (accelerator !== undefined) return accelerator;
  throw new KvasirError({
    code: 'catalog/unknown-accelerator',
    field: 'accelerator',
    message: `the catalogue has no accelerator ${JSON.stringify(name)}`,
    remedy: `use one of ${ACCELERATORS.map((each) => each.name).join(', ')}`,
  });
}
