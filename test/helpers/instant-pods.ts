import type { PodRunner, RunningPod } from '../../runtime/cluster/pod-runner';
import { wallClock } from '../../runtime/lib/wall-clock';
import type { RunningEngine } from '../../runtime/simulator/index';
import type { Pod } from '../../src/api/pod';
import type { StepTime } from '../../src/catalog/step-time';
import type { EnginePlan } from '../../src/expand/engine-plan';
import { NO_TIME, startSimulated } from './simulated-engine';

export interface InstantPodsOptions {
  /** How fast a pod's engine is. @default it answers at once */
  readonly stepTime?: (pod: Pod) => StepTime;
  /** Blocks of KV cache of each engine. @default 2,000 */
  readonly numBlocks?: number;
}

/** Runs pods as simulated engines that are loaded at once, each on a free port of the loopback, in real time. */
export class InstantPods implements PodRunner {
  private readonly engines = new Map<string, RunningEngine>();

  constructor(private readonly options: InstantPodsOptions = {}) {}

  /** The engine of a running pod. */
  engine(name: string): RunningEngine {
    const found = this.engines.get(name);
    if (found === undefined) throw new Error(`${name} does not run, but ${this.names().join(', ')}`);
    return found;
  }

  /** Pods that run, sorted. */
  names(): readonly string[] {
    return [...this.engines.keys()].sort();
  }

  async start(pod: Pod, plan: EnginePlan | undefined): Promise<RunningPod> {
    const never = new Promise<never>(() => undefined);
    const podIP = '127.0.0.1';
    if (plan === undefined) return { podIP, ready: Promise.resolve(), exited: never, stop: async () => undefined };
    const { name } = pod.metadata;
    const engine = await startSimulated(plan, {
      clock: wallClock(),
      numBlocks: this.options.numBlocks ?? 2_000,
      stepTime: this.options.stepTime?.(pod) ?? NO_TIME,
    });
    this.engines.set(name, engine);
    const gone = (): void => {
      if (this.engines.get(name) === engine) this.engines.delete(name);
    };
    return {
      podIP,
      ports: { [plan.port]: engine.port },
      ready: Promise.resolve(),
      exited: engine.exited.then((exit) => {
        gone();
        return exit;
      }),
      stop: async (graceMs) => {
        await engine.stop(graceMs);
        gone();
      },
    };
  }

  killAll(): void {
    for (const engine of this.engines.values()) engine.kill();
  }
}
