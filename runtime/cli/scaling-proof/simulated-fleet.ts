import type { ModelServer } from '../../../src/api/model-server';
import type { Pod } from '../../../src/api/pod';
import { NETWORKING_API_VERSION } from '../../../src/labels';
import type { Kind, KindMap, Objects } from '../../cluster/objects';
import type { Clock, Timer } from '../../lib/clock';
import { EngineCore } from '../../simulator/engine-core';
import { PodEngine } from './pod-engine';
import { NAMESPACE, PORT, SERVICE_LABELS, type ServicePool } from './service-pool';

/** One pod of the service, from its creation to its end. */
export interface SimulatedPod {
  readonly pool: number;
  readonly name: string;
  readonly engine: PodEngine;
  readonly createdMs: number;
  phase: 'starting' | 'ready' | 'draining';
  /** As the API would show it. */
  object: Pod;
  /** Requests that it has not answered yet. */
  inFlight: number;
}

/** Replicas that come and go: each is paid for from its creation, serves after its start-up time, and ends when its last answer is given. */
export class SimulatedFleet {
  readonly modelServerKey = `${NAMESPACE}/simulated`;
  /** All that exist, oldest first. */
  readonly pods: SimulatedPod[] = [];
  /** Changes of a pool's replicas. */
  scalings = 0;
  private readonly server: ModelServer;
  private readonly starts = new Map<SimulatedPod, Timer>();
  private readonly listeners = new Set<() => void>();
  private made = 0;
  private spent = 0;
  private gpuMs = 0;

  constructor(
    readonly pools: readonly ServicePool[],
    private readonly clock: Clock,
    model: string,
  ) {
    this.server = {
      apiVersion: NETWORKING_API_VERSION,
      kind: 'ModelServer',
      metadata: { name: 'simulated', namespace: NAMESPACE },
      spec: {
        model,
        inferenceEngine: 'vLLM',
        workloadSelector: { matchLabels: SERVICE_LABELS },
        workloadPort: { port: PORT, protocol: 'http' },
      },
    };
  }

  /** Replicas of each pool that are asked for. */
  replicas(): readonly number[] {
    return this.pools.map((_, pool) => this.staying(pool).length);
  }

  /** Sets the replicas of each pool. @param isReady whether new pods serve at once, as those that a day begins with. */
  scale(replicas: readonly number[], isReady = false): void {
    let isChanged = false;
    this.pools.forEach((_, pool) => {
      const staying = this.staying(pool);
      const missing = replicas[pool]! - staying.length;
      if (missing === 0) return;
      isChanged = true;
      if (!isReady) this.scalings += 1;
      for (let i = 0; i < missing; i++) this.create(pool, isReady);
      for (const pod of leastUsed(staying).slice(0, Math.max(0, -missing))) this.drain(pod);
    });
    if (isChanged) this.tell();
  }

  /** A request was sent to a pod; the returned function is called when it is over. */
  sent(pod: SimulatedPod): () => void {
    pod.inFlight += 1;
    return () => {
      pod.inFlight -= 1;
      if (pod.phase === 'draining' && pod.inFlight === 0) this.end(pod);
    };
  }

  /** What all pods cost until now, in USD, and the time of their accelerators. */
  bill(): { readonly cost: number; readonly gpuHours: number } {
    const nowMs = this.clock.monotonic();
    let cost = this.spent;
    let { gpuMs } = this;
    for (const { pool, createdMs } of this.pods) {
      cost += this.priceOf(pool, nowMs - createdMs);
      gpuMs += this.pools[pool]!.plan.gpus * (nowMs - createdMs);
    }
    return { cost, gpuHours: gpuMs / 3_600_000 };
  }

  /** The cluster as router and autoscaler see it. */
  objects(): Objects {
    const list = <K extends Kind>(kind: K, labels: Readonly<Record<string, string>> = {}): readonly KindMap[K][] => {
      const byKind: Partial<{ readonly [L in Kind]: readonly KindMap[L][] }> = {
        Pod: this.pods.map(({ object }) => object),
        ModelServer: [this.server],
      };
      const wanted = Object.entries(labels);
      const all = (byKind[kind] ?? []) as readonly KindMap[K][];
      return all.filter(({ metadata }) => wanted.every(([label, value]) => metadata.labels?.[label] === value));
    };
    return {
      list: (kind, query) => list(kind, query?.labels),
      get: (kind, _namespace, name) => list(kind).find(({ metadata }) => metadata.name === name),
      changed: (kind, listener) => {
        const tell = (): void => listener(new Set());
        if (kind === 'Pod') this.listeners.add(tell);
        return () => this.listeners.delete(tell);
      },
      freshness: () => ({ isSynced: true, ageMs: 0 }),
    };
  }

  private staying(pool: number): readonly SimulatedPod[] {
    return this.pods.filter((pod) => pod.pool === pool && pod.phase !== 'draining');
  }

  private create(poolIndex: number, isReady: boolean): void {
    const pool = this.pools[poolIndex]!;
    const { engine, limits, numBlocks, plan, template } = pool;
    const number = this.made++;
    const name = `${pool.name}-${number}`;
    const core = new EngineCore({
      clock: this.clock,
      stepTime: engine.stepTime,
      numBlocks,
      enablePrefixCaching: plan.enablePrefixCaching,
      maxLoras: plan.maxLoras,
      ...limits,
      strides: true,
    });
    const created = this.timestamp();
    const conditions = [{ type: 'Ready', status: 'False' }] as const;
    const pod: SimulatedPod = {
      pool: poolIndex,
      name,
      engine: new PodEngine(core, limits.blockSize),
      createdMs: this.clock.monotonic(),
      phase: 'starting',
      object: {
        ...template,
        metadata: { ...template.metadata, name, uid: name, creationTimestamp: created },
        status: { phase: 'Running', podIP: addressOf(number), startTime: created, conditions },
      },
      inFlight: 0,
    };
    this.pods.push(pod);
    if (isReady) {
      this.serve(pod);
      return;
    }
    const start = (): void => {
      this.serve(pod);
      this.tell();
    };
    this.starts.set(pod, this.clock.after(pool.startMs, start));
  }

  private serve(pod: SimulatedPod): void {
    this.starts.delete(pod);
    pod.phase = 'ready';
    const ready = { type: 'Ready', status: 'True', lastTransitionTime: this.timestamp() } as const;
    pod.object = { ...pod.object, status: { ...pod.object.status, conditions: [ready] } };
  }

  private drain(pod: SimulatedPod): void {
    this.starts.get(pod)?.cancel();
    this.starts.delete(pod);
    pod.phase = 'draining';
    pod.object = { ...pod.object, metadata: { ...pod.object.metadata, deletionTimestamp: this.timestamp() } };
    if (pod.inFlight === 0) this.end(pod);
  }

  private end(pod: SimulatedPod): void {
    const aliveMs = this.clock.monotonic() - pod.createdMs;
    this.spent += this.priceOf(pod.pool, aliveMs);
    this.gpuMs += this.pools[pod.pool]!.plan.gpus * aliveMs;
    this.pods.splice(this.pods.indexOf(pod), 1);
    this.tell();
  }

  private priceOf(pool: number, aliveMs: number): number {
    return (this.pools[pool]!.pricePerHour * aliveMs) / 3_600_000;
  }

  private timestamp(): string {
    return new Date(this.clock.now()).toISOString();
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}

/** Those that are to go first: pods that do not serve yet, then those with the fewest requests, then the youngest. */
function leastUsed(pods: readonly SimulatedPod[]): readonly SimulatedPod[] {
  const weight = ({ phase, inFlight }: SimulatedPod): number => (phase === 'starting' ? -1 : inFlight);
  return [...pods].sort((a, b) => weight(a) - weight(b) || b.createdMs - a.createdMs);
}

function addressOf(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}
