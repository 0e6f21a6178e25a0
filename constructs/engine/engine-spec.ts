import type { Finding } from '../../src/errors';
import type { KvLayout } from './kv-layout';

/** Gauges of an engine's metrics page, by meaning. */
export interface EngineMetrics {
  /** Sequences in the running batch. */
  readonly runningRequests?: string;
  /** Requests that wait to be scheduled. */
  readonly waitingRequests?: string;
  /** Share of KV cache in use, 0..1. */
  readonly kvCacheUsage?: string;
}

/** Place of a pod among the pods of its replica. Address and index are `$(NAME)`, which the kubelet expands from the environment. */
export interface NodePlace {
  /** Pods of the replica, at least 2. */
  readonly count: number;
  readonly leaderAddress: string;
  readonly index: string;
  /** Whether it is the pod that answers requests. */
  readonly isLeader: boolean;
}

/** Half of a disaggregated model: one computes the KV cache of prompts, the other generates from it. */
export type PdRole = 'prefill' | 'decode';

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
  /** Absent when a replica is one pod. */
  readonly node?: NodePlace;
  /** How long running requests may take after SIGTERM, in seconds. */
  readonly drainSeconds: number;
  /** Its half of a disaggregated model. Absent: it does both. */
  readonly role?: PdRole;
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
  /** Engine of the catalogue and its release; undefined for a custom engine, whose flags nobody knows. */
  readonly release?: { readonly name: 'vllm' | 'sglang'; readonly version: string };
  readonly port: number;
  readonly healthPath: string;
  readonly metricsPath: string;
  readonly metrics: EngineMetrics;
  /** Context length that was asked for, in tokens; undefined: the model's own. */
  readonly maxModelLen?: number;
  /** Whether the engine finishes its streams after SIGTERM. Otherwise the pod must wait before it. */
  readonly finishesStreams: boolean;
  launch(request: LaunchRequest): Launch;
  /** Layout of the KV cache that `launch` asks for. Absent where nobody can tell. */
  kvLayoutOf?(launch: Launch): KvLayout;
  /** What is odd about the flags that were given, apart from where. */
  check(launch: Launch): readonly Finding[];
}
