import { Construct } from 'constructs';
import { KubeInferencePool } from './kube/inference-pool';
import { ownedLabels } from './owned-labels';

export interface InferencePoolProps {
  /** Name of the object. @default the construct's id */
  readonly name?: string;
  /** Labels of the pods that serve, in the same namespace. */
  readonly podLabels: Readonly<Record<string, string>>;
  /** Port of the engine. */
  readonly port: number;
  /** Service of the endpoint picker that the Gateway asks for each request, in the same namespace. */
  readonly picker: {
    /** Name of the Service. */
    readonly name: string;
    /** @default 9002 */
    readonly port?: number;
    /** What happens while the picker is away: requests fail, or go to any pod. @default 'FailClose' */
    readonly failureMode?: 'FailOpen' | 'FailClose';
  };
}

/**
 * L2: pods behind a Gateway that has the Inference Extension and an endpoint picker of its own. Creates an InferencePool. With Kvasir's
 * router in front, a ModelServer takes its place.
 *
 * @example
 * const pool = new InferencePool(models, 'pool', { podLabels: qwen.pools.h100.servingSelector, port: 8000, picker: { name: 'picker' } });
 * new GatewayRoute(models, 'pooled', { gateways: [{ name: 'public', namespace: 'gateways' }], backends: [{ pool }] });
 */
export class InferencePool extends Construct {
  /** API group of the kind, as routes name it. */
  static readonly GROUP = 'inference.networking.k8s.io';

  readonly resource: KubeInferencePool;
  readonly name: string;

  constructor(scope: Construct, id: string, props: InferencePoolProps) {
    super(scope, id);
    this.name = props.name ?? id;
    const { name, port, failureMode } = props.picker;
    this.resource = new KubeInferencePool(this, 'Resource', {
      metadata: { name: this.name, labels: ownedLabels() },
      spec: {
        selector: { matchLabels: props.podLabels },
        targetPorts: [{ number: props.port }],
        appProtocol: 'http',
        endpointPickerRef: {
          group: '',
          kind: 'Service',
          name,
          port: { number: port ?? 9002 },
          failureMode: failureMode ?? 'FailClose',
        },
      },
    });
  }
}
