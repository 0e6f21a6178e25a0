import type { Pod } from '../../../src/api/pod';
import { type EnginePlan, sizeEngine } from '../../../src/expand';
import type { LoopbackAddresses } from '../../cluster/manifests/loopback-addresses';
import type { PodRunner, RunningPod } from '../../cluster/pod-runner';
import { type Clock, sleep } from '../../lib/clock';
import type { Random } from '../../lib/random';
import { engineLimits, type RunningEngine, rankPlan, startEngine } from '../../simulator';
import { freePort } from '../free-port';

/** A simulated engine and the pod that it is. */
export interface SimulatedPod {
  readonly pod: Pod;
  readonly plan: EnginePlan;
  readonly engine: RunningEngine;
}

/**
 * Runs pods as simulated engines of this process: each on a loopback address of its own, ready after the time that its model takes to
 * load, as fast and as large as the catalogue says of its GPU and model. Pods that are no engine are ready at once and serve nothing.
 */
export class SimulatedPods implements PodRunner {
  private readonly engines = new Map<string, SimulatedPod>();

  constructor(
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly addresses: LoopbackAddresses,
  ) {}

  /** Engines that serve now, by pod name. */
  running(): readonly SimulatedPod[] {
    return [...this.engines.values()].sort((a, b) => (a.pod.metadata.name < b.pod.metadata.name ? -1 : 1));
  }

  async start(pod: Pod, plan: EnginePlan | undefined): Promise<RunningPod> {
    const podIP = this.addresses.take();
    const never = new Promise<never>(() => undefined);
    if (plan === undefined) {
      return { podIP, ready: Promise.resolve(), exited: never, stop: async () => this.addresses.giveBack(podIP) };
    }
    const port = this.addresses.isOwn ? plan.port : await freePort(podIP);
    const kvPort = kvPortOf(plan);
    const ownKvPort = kvPort === undefined || this.addresses.isOwn ? kvPort : await freePort(podIP);
    const stopped = new AbortController();
    const key = pod.metadata.uid ?? pod.metadata.name;
    const loaded = this.load(pod, plan, podIP, { port, kvPort: ownKvPort }, stopped.signal);
    const ready = loaded.then(() => undefined);
    ready.catch(() => undefined);
    const exited = loaded.then(
      (engine) => engine?.exited ?? never,
      () => never,
    );
    return {
      podIP,
      ...(port === plan.port
        ? {}
        : { ports: { [plan.port]: port, ...(ownKvPort === undefined ? {} : { [kvPort!]: ownKvPort }) } }),
      ready,
      exited: exited.then((exit) => {
        this.engines.delete(key);
        this.addresses.giveBack(podIP);
        return exit;
      }),
      stop: async (graceMs) => {
        stopped.abort();
        const engine = await loaded.catch(() => undefined);
        await engine?.stop(graceMs);
        this.engines.delete(key);
        this.addresses.giveBack(podIP);
      },
    };
  }

  private async load(
    pod: Pod,
    plan: EnginePlan,
    host: string,
    { port, kvPort }: { readonly port: number; readonly kvPort: number | undefined },
    stopped: AbortSignal,
  ): Promise<RunningEngine | undefined> {
    const { shape, accelerator, gpus, stepTime, kvCapacityTokens, loadTimeMs } = sizeEngine(rankPlan(plan));
    const numBlocks = Math.floor(kvCapacityTokens / engineLimits(plan).blockSize);
    if (numBlocks < 2) {
      throw new Error(`${shape.name} does not fit on ${gpus} × ${accelerator.name}: no memory is left for its KV cache`);
    }
    await sleep(this.clock, loadTimeMs, stopped);
    if (stopped.aborted) return undefined;
    const engine = await startEngine({
      plan,
      host,
      port,
      clock: this.clock,
      random: this.random,
      stepTime,
      numBlocks,
      ...(kvPort === undefined ? {} : { kvPort }),
    });
    this.engines.set(pod.metadata.uid ?? pod.metadata.name, { pod, plan, engine });
    return engine;
  }
}

/** Port at which other engines, or a router, meet an engine's KV; undefined when it hands none over by a port. */
function kvPortOf({ kvTransfer }: EnginePlan): number | undefined {
  switch (kvTransfer?.connector) {
    case 'nixl':
      return kvTransfer.sideChannelPort;
    case 'mooncake':
      return kvTransfer.isProducer ? kvTransfer.bootstrapPort : undefined;
    case 'sglang':
      return kvTransfer.role === 'prefill' ? kvTransfer.bootstrapPort : undefined;
    default:
      return undefined;
  }
}
