import { Construct } from 'constructs';
import type { InferenceEngine, ModelServerManifest, PdGroup, WorkloadSelector } from '../src/api/model-server';
import { formatDuration } from '../src/duration';
import { KubeModelServer } from './kube/model-server';
import { routedLabels } from './owned-labels';

export interface TrafficPolicyOptions {
  /** Longest time until an engine's response headers, in milliseconds. @default no limit */
  readonly timeoutMs?: number;
  /** Further attempts on other pods. @default what the router is configured with */
  readonly retry?: {
    /** How often a request may be tried again before its first byte. */
    readonly attempts: number;
    /** Pause between attempts, in milliseconds. @default 100 */
    readonly intervalMs?: number;
  };
}

/** How prefill and decode pods are told apart and paired. */
export interface DisaggregationOptions {
  /** Label of the pods; those with the same value of it may be paired. */
  readonly groupKey: string;
  /** Labels of the pods that compute KV. */
  readonly prefillLabels: Readonly<Record<string, string>>;
  /** Labels of the pods that generate. */
  readonly decodeLabels: Readonly<Record<string, string>>;
  /** How KV travels. @default the engine's own protocol, which the router knows by the engine */
  readonly handOff?: NonNullable<ModelServerManifest['spec']['kvConnector']>['type'];
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
  /** What the engine speaks there; for https, see `Router.engineTls`. @default 'http' */
  readonly protocol?: 'http' | 'https';
  /** Name that the engine serves the model under. @default requests keep the name that the client asked for */
  readonly model?: string;
  /** Prefill and decode pods among them, and how a request is handed from one to the other. @default every pod does both */
  readonly disaggregation?: DisaggregationOptions;
  /** @default no deadline; two retries, as one lost pod and one more should not reach a client */
  readonly traffic?: TrafficPolicyOptions;
}

/**
 * L2: the pods that serve one model. Creates a ModelServer.
 *
 * @example
 * new ModelServer(models, 'small', { engine: 'vLLM', podLabels: { app: 'small' }, port: 8000, model: 'chat' });
 */
export class ModelServer extends Construct {
  readonly resource: KubeModelServer;
  readonly name: string;

  constructor(scope: Construct, id: string, props: ModelServerProps) {
    super(scope, id);
    this.name = props.name ?? id;
    const { disaggregation } = props;
    const workloadSelector: WorkloadSelector = {
      matchLabels: props.podLabels,
      ...(disaggregation === undefined ? {} : { pdGroup: pdGroupOf(disaggregation) }),
    };
    this.resource = new KubeModelServer(this, 'Resource', {
      metadata: { name: this.name, labels: routedLabels() },
      spec: {
        ...(props.model === undefined ? {} : { model: props.model }),
        inferenceEngine: props.engine,
        workloadSelector,
        workloadPort: { port: props.port, protocol: props.protocol ?? 'http' },
        trafficPolicy: trafficPolicy(props.traffic ?? { retry: { attempts: 2 } }),
        ...(disaggregation?.handOff === undefined ? {} : { kvConnector: { type: disaggregation.handOff } }),
      },
    });
  }
}

function pdGroupOf({ groupKey, prefillLabels, decodeLabels }: DisaggregationOptions): PdGroup {
  return { groupKey, prefillLabels, decodeLabels };
}

function trafficPolicy({ timeoutMs, retry }: TrafficPolicyOptions): ModelServerManifest['spec']['trafficPolicy'] {
  return {
    ...(timeoutMs === undefined ? {} : { timeout: formatDuration(timeoutMs) }),
    ...(retry === undefined
      ? {}
      : { retry: { attempts: retry.attempts, retryInterval: formatDuration(retry.intervalMs ?? 100) } }),
  };
}
