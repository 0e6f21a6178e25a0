import { Construct } from 'constructs';
import type { InferenceEngine, ModelServerManifest, WorkloadSelector } from '../src/api/model-server';
import { formatDuration } from '../src/duration';
import { KubeModelServer } from './kube/model-server';
import { routedLabels } from './owned-labels';

export interface TrafficPolicyOptions {
  /** Longest time until an engine's response headers, in milliseconds. @default no limit */
  readonly timeoutMs?: number;
  readonly retry?: {
    /** How often a request may be tried again before its first byte. */
    readonly attempts: number;
    /** Pause between attempts, in milliseconds. @default 100 */
    readonly intervalMs?: number;
  };
}

export interface ModelServerProps {
  /** Name of the object. @default the construct's id */
  readonly name?: string;
  /** Engine of the pods: it decides which metrics and which dialect the router expects. */
  readonly engine: InferenceEngine;
  /** Labels of the pods that serve this model, in the same namespace. */
  readonly podLabels: Readonly<Record<string, string>>;
  /** Port of the engine. */
  readonly port: number;
  /** Name that the engine serves the model under. @default requests keep the name that the client asked for */
  readonly model?: string;
  /** @default no deadline; two retries, as one lost pod and one more should not reach a client */
  readonly traffic?: TrafficPolicyOptions;
}

/** L2: the pods that serve one model. Creates a ModelServer. */
export class ModelServer extends Construct {
  readonly resource: KubeModelServer;
  readonly name: string;

  constructor(scope: Construct, id: string, props: ModelServerProps) {
    super(scope, id);
    this.name = props.name ?? id;
    const workloadSelector: WorkloadSelector = { matchLabels: props.podLabels };
    this.resource = new KubeModelServer(this, 'Resource', {
      metadata: { name: this.name, labels: routedLabels() },
      spec: {
        ...(props.model === undefined ? {} : { model: props.model }),
        inferenceEngine: props.engine,
        workloadSelector,
        workloadPort: { port: props.port, protocol: 'http' },
        trafficPolicy: trafficPolicy(props.traffic ?? { retry: { attempts: 2 } }),
      },
    });
  }
}

function trafficPolicy({ timeoutMs, retry }: TrafficPolicyOptions): ModelServerManifest['spec']['trafficPolicy'] {
  return {
    ...(timeoutMs === undefined ? {} : { timeout: formatDuration(timeoutMs) }),
    ...(retry === undefined
      ? {}
      : { retry: { attempts: retry.attempts, retryInterval: formatDuration(retry.intervalMs ?? 100) } }),
  };
}
