import type { Finding } from '../../src/errors';

/** Gauges of an engine's metrics page, by meaning. */
export interface EngineMetrics {
  /** Sequences in the running batch. */
  readonly runningRequests?: string;
  /** Requests that wait to be scheduled. */
  readonly waitingRequests?: string;
  /** Share of KV cache in use, 0..1. */
  readonly kvCacheUsage?: string;
}

/** What an engine is to be started with. */
export interface LaunchRequest {
  /** Hub name or folder of the model. */
  readonly model: string;
  /** Commit, tag or branch of a hub repository. */
  readonly revision?: string;
  /** Name under which clients ask for the model. */
  readonly servedModelName: string;
  readonly tensorParallel: number;
  readonly pipelineParallel: number;
  /** How long running requests may take after SIGTERM, in seconds. */
  readonly drainSeconds: number;
}

/** How a container runs an engine: words of a command line, never a shell's. */
export interface Launch {
  readonly command?: readonly string[];
  readonly args: readonly string[];
}

/** What Kvasir needs to know of an engine to run it in a pod. */
export interface EngineSpec {
  /** Name and version, for people. */
  readonly name: string;
  /** Which engine's dialect and metrics the router expects. */
  readonly apiName: 'vLLM' | 'SGLang';
  readonly image: string;
  readonly port: number;
  readonly healthPath: string;
  readonly metricsPath: string;
  readonly metrics: EngineMetrics;
  /** Context length that was asked for, in tokens; undefined: the model's own. */
  readonly maxModelLen?: number;
  /** Whether the engine finishes its streams after SIGTERM. Otherwise the pod must wait before it. */
  readonly finishesStreams: boolean;
  launch(request: LaunchRequest): Launch;
  /** What is odd about the flags that were given, apart from where. */
  check(launch: Launch): readonly Finding[];
}
