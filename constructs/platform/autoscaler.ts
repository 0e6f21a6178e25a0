import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { type AutoscalerConfig, decodeAutoscalerConfig, defaultAutoscalerConfig } from '../../src/config/autoscaler-config';
import { Annotations, WORKLOAD_GROUP } from '../../src/labels';
import { addCheck } from '../check';
import { RawDeployment } from '../kube/deployment';
import { objectName } from '../object-name';
import { ownedLabels } from '../owned-labels';
import { stackContext } from '../stack-context';
import { PodOverride } from '../workload/pod-override';
import { type AccessRule, grantAccess, READ } from './access';
import { createConfigDocument } from './config-document';
import type { DeepPartial } from './deep-partial';
import { platformImage } from './platform-image';
import { CONFIG_FOLDER, platformPod } from './platform-pod';
import { DEBUG_PORT, METRICS_PORT } from './ports';

export interface AutoscalerProps {
  /** Name of the objects. @default 'kvasir-autoscaler' */
  readonly name?: string;
  /** @default `<images.registry>/kvasir-autoscaler:<images.tag>` of the app */
  readonly image?: string;
  /** The configuration document; fields that are left out keep the image's defaults. @default none set */
  readonly config?: DeepPartial<AutoscalerConfig>;
  /** CPU request. @default '200m' */
  readonly cpu?: string;
  /** Memory request and limit. @default '512Mi' */
  readonly memory?: string;
}

const CONFIG_FILE = 'autoscalerConfiguration.yaml';

/** Objects with a `/scale` subresource that policies may name. */
const SCALED: readonly AccessRule[] = [
  { group: 'apps', resources: ['deployments/scale', 'statefulsets/scale'], verbs: ['get', 'update'] },
  { group: 'leaderworkerset.x-k8s.io', resources: ['leaderworkersets/scale'], verbs: ['get', 'update'] },
  { group: WORKLOAD_GROUP, resources: ['modelservings/scale'], verbs: ['get', 'update'] },
  // Roles have no /scale of their own.
  { group: WORKLOAD_GROUP, resources: ['modelservings'], verbs: ['patch'] },
];

/** Roles of DisaggregatedSets, which come with the LeaderWorkerSet controller. */
const SCALED_ROLES: AccessRule = {
  group: 'disaggregatedset.x-k8s.io',
  resources: ['disaggregatedsetrolescalers/scale'],
  verbs: ['get', 'update'],
};

/**
 * L2: the autoscaler. Creates a Deployment of one replica, a Service for its metrics, a ConfigMap, and rights to read policies and pods,
 * to write `/scale` and statuses, and to hold its Lease.
 */
export class Autoscaler extends Construct {
  readonly name: string;
  readonly deployment: RawDeployment;
  readonly service: k8s.KubeService;
  /** The configuration that the image will have, defaults included. */
  readonly config: AutoscalerConfig;
  /** Adds to the pods. */
  readonly pod = new PodOverride();

  constructor(scope: Construct, id: string, props: AutoscalerProps = {}) {
    super(scope, id);
    this.name = objectName(this, props.name ?? 'kvasir-autoscaler');
    const selector = { app: this.name };
    const labels = ownedLabels(selector);
    const image = platformImage(this, 'autoscaler', props.image);
    const decoded = decodeAutoscalerConfig(props.config ?? {});
    addCheck(this, () =>
      decoded.kind === 'valid' ? [] : decoded.findings.map((found) => ({ ...found, field: `config.${found.field}` })),
    );
    this.config = decoded.kind === 'valid' ? decoded.config : defaultAutoscalerConfig();

    grantAccess(
      this,
      this.name,
      [
        { group: WORKLOAD_GROUP, resources: ['autoscalingpolicies', 'autoscalingpolicybindings', 'modelservings'], verbs: READ },
        {
          group: WORKLOAD_GROUP,
          resources: ['autoscalingpolicies/status', 'autoscalingpolicybindings/status'],
          verbs: ['get', 'patch', 'update'],
        },
        ...SCALED,
        ...(stackContext(this).cluster.leaderWorkerSet ? [SCALED_ROLES] : []),
        { group: 'autoscaling', resources: ['horizontalpodautoscalers'], verbs: READ },
        { group: '', resources: ['pods'], verbs: READ },
        { group: '', resources: ['events'], verbs: ['create', 'patch'] },
      ],
      [{ group: 'coordination.k8s.io', resources: ['leases'], verbs: ['create', 'get', 'update'] }],
    );
    const { hash } = createConfigDocument(this, this.name, CONFIG_FILE, props.config ?? {});
    this.deployment = new RawDeployment(this, 'Resource', {
      metadata: { name: this.name, labels },
      spec: () => ({
        replicas: 1,
        selector: { matchLabels: selector },
        // One at a time: two that act at once would undo each other's writes.
        strategy: { type: 'Recreate' },
        progressDeadlineSeconds: 600,
        revisionHistoryLimit: 3,
        template: this.pod.apply(
          platformPod({
            labels: selector,
            annotations: { [Annotations.configHash]: hash },
            name: 'autoscaler',
            image,
            args: [
              ...['--cluster', 'kubernetes', '--metrics-listen', `0.0.0.0:${METRICS_PORT}`],
              ...['--debug-listen', `127.0.0.1:${DEBUG_PORT}`, '--config', `${CONFIG_FOLDER}/${CONFIG_FILE}`],
            ],
            serviceAccountName: this.name,
            ports: [{ name: 'metrics', containerPort: METRICS_PORT }],
            configMap: this.name,
            readiness: { path: '/readyz', port: 'metrics' },
            liveness: { path: '/healthz', port: 'metrics' },
            terminationGracePeriodSeconds: 30,
            cpu: props.cpu ?? '200m',
            memory: props.memory ?? '512Mi',
          }),
        ),
      }),
    });
    this.service = new k8s.KubeService(this, 'Service', {
      metadata: { name: this.name, labels },
      spec: {
        selector,
        ports: [{ name: 'metrics', port: METRICS_PORT, targetPort: k8s.IntOrString.fromString('metrics'), protocol: 'TCP' }],
      },
    });
  }
}
