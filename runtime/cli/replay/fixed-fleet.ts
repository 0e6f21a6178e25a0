import type { ModelServer } from '../../../src/api/model-server';
import type { Pod } from '../../../src/api/pod';
import { ACCELERATORS, type Accelerator, acceleratorNamed } from '../../../src/catalog/accelerators';
import { modelShapeOrDefault } from '../../../src/catalog/models';
import { kvCapacityTokens, type StepTime, stepTimeOf } from '../../../src/catalog/step-time';
import { KvasirError } from '../../../src/errors';
import type { EnginePlan } from '../../../src/expand/engine-plan';
import { planEngine } from '../../../src/expand/plan-engine';
import { NETWORKING_API_VERSION } from '../../../src/labels';
import type { Kind, KindMap, Objects } from '../../cluster/objects';
import type { Clock } from '../../lib/clock';
import { EngineCore } from '../../simulator/engine-core';
import { type EngineLimits, engineLimits } from '../../simulator/engine-limits';
import { enginePod } from './engine-pod';
import { ReplayedEngine } from './replayed-engine';

export interface FleetOptions {
  readonly replicas: number;
  /** Name of a model shape of the catalogue. */
  readonly model: string;
  /** Name of an accelerator of the catalogue. */
  readonly accelerator: string;
  /** Accelerators of one replica, tensor-parallel. @default the fewest that hold the weights */
  readonly gpus?: number;
  /** Further flags of vLLM, such as `--max-num-batched-tokens 4096`. @default none */
  readonly engineArgs?: readonly string[];
  /** Tokens of KV cache per replica. @default what fits beside the weights */
  readonly kvTokens?: number;
  /** Uncached prompt tokens per second that a replica computes, where that was measured. @default by the catalogue's roofline */
  readonly prefillTokensPerSecond?: number;
}

/** What all replicas of a fleet have in common. */
export interface FleetFacts {
  readonly gpus: number;
  /** Tokens of KV cache per replica. */
  readonly kvTokens: number;
  /** Tokens per KV block. */
  readonly blockSize: number;
  readonly prefillTokensPerSecond: number;
  /** Price of all replicas; undefined where the catalogue has none for the accelerator. */
  readonly costPerHour: number | undefined;
}

const NAMESPACE = 'default';
const LABELS = { app: 'replayed' };
const PORT = 8000;

/** Replicas that stay, and the cluster objects that describe them. */
export class FixedFleet {
  readonly modelServerKey = `${NAMESPACE}/replayed`;
  readonly facts: FleetFacts;
  readonly limits: EngineLimits;
  private readonly server: ModelServer;
  private readonly pods: readonly Pod[];
  private readonly plan: EnginePlan;
  private readonly accelerator: Accelerator;
  private readonly stepTime: StepTime;

  /** @throws KvasirError when the catalogue has no such accelerator. */
  constructor(private readonly options: FleetOptions) {
    this.accelerator = knownAccelerator(options.accelerator);
    this.server = {
      apiVersion: NETWORKING_API_VERSION,
      kind: 'ModelServer',
      metadata: { name: 'replayed', namespace: NAMESPACE },
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
    const { shape } = modelShapeOrDefault(this.plan.model);
    const { gpus, gpuMemoryUtilization } = this.plan;
    const catalogued = stepTimeOf(shape, this.accelerator, gpus);
    const { prefillTokensPerSecond = 1000 / catalogued.perPrefillTokenMs } = options;
    this.stepTime = { ...catalogued, perPrefillTokenMs: 1000 / prefillTokensPerSecond };
    const price = this.accelerator.listPricePerHour;
    this.facts = {
      gpus,
      kvTokens: options.kvTokens ?? kvCapacityTokens(shape, this.accelerator, gpus, gpuMemoryUtilization),
      blockSize: this.limits.blockSize,
      prefillTokensPerSecond,
      costPerHour: price === undefined ? undefined : price * gpus * options.replicas,
    };
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

  /** A new engine for each replica, by pod name. @throws KvasirError when its KV cache holds nothing. */
  engines(clock: Clock): ReadonlyMap<string, ReplayedEngine> {
    const { stepTime, limits } = this;
    const numBlocks = Math.ceil(this.facts.kvTokens / limits.blockSize);
    if (numBlocks < 2) throw noKvCache(this.options);
    const { enablePrefixCaching, maxLoras } = this.plan;
    return new Map(
      this.pods.map(({ metadata }) => [
        metadata.name,
        new ReplayedEngine(
          new EngineCore({ clock, stepTime, numBlocks, enablePrefixCaching, maxLoras, ...limits }),
          limits.blockSize,
        ),
      ]),
    );
  }

  private pod(index: number): Pod {
    const { model, engineArgs, gpus } = this.options;
    return enginePod({
      name: `replayed-${index}`,
      namespace: NAMESPACE,
      labels: LABELS,
      model,
      accelerator: this.accelerator,
      ...(gpus === undefined ? {} : { gpus }),
      ...(engineArgs === undefined ? {} : { engineArgs }),
    });
  }
}

/** @throws KvasirError when the catalogue has no such accelerator. */
export function knownAccelerator(name: string): Accelerator {
  const accelerator = acceleratorNamed(name);
  if (accelerator !== undefined) return accelerator;
  throw new KvasirError({
    code: 'catalog/unknown-accelerator',
    field: 'accelerator',
    message: `the catalogue has no accelerator ${JSON.stringify(name)}`,
    remedy: `use one of ${ACCELERATORS.map((each) => each.name).join(', ')}`,
  });
}

function noKvCache({ model, accelerator }: FleetOptions): KvasirError {
  return new KvasirError({
    code: 'replay/no-kv-cache',
    field: '--kv-tokens',
    message: `${model} leaves no room for a KV cache on ${accelerator}`,
    remedy: 'give more accelerators per replica (--gpus), a larger class, or --kv-tokens',
  });
}
