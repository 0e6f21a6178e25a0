import type { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { type AutoscalerConfig, decodeAutoscalerConfig, defaultAutoscalerConfig } from '../../src/config/autoscaler-config';
import { NETWORKING_GROUP, WORKLOAD_GROUP } from '../../src/labels';
import type { RawDeployment } from '../kube/deployment';
import { objectName } from '../object-name';
import { stackContext } from '../stack-context';
import { PodOverride } from '../workload/pod-override';
import { type AccessRule, grantAccess, READ } from './access';
import type { DeepPartial } from './deep-partial';
import { checkedConfig, createImageDeployment } from './image-deployment';
import { readWorkloads } from './workload-access';

export interface AutoscalerProps {
  /** Name of the objects. @default 'kvasir-autoscaler' */
  readonly name?: string;
  /** @default `<images.registry>/kvasir-autoscaler:<images.tag>` of the app */
  readonly image?: string;
  /** Pods, of which one leads and the others stand by. @default 2 */
  readonly replicas?: number;
  /** The configuration document; fields that are left out keep the image's defaults. @default none set */
  readonly config?: DeepPartial<AutoscalerConfig>;
  /** CPU request. @default '200m' */
  readonly cpu?: string;
  /** Memory request and limit. @default '512Mi' */
  readonly memory?: string;
}

/** Objects with a `/scale` subresource that policies may name. */
const SCALED: readonly AccessRule[] = [
  { group: 'apps', resources: ['deployments/scale', 'statefulsets/scale'], verbs: ['get', 'update'] },
  { group: 'leaderworkerset.x-k8s.io', resources: ['leaderworkersets/scale'], verbs: ['get', 'update'] },
  { group: WORKLOAD_GROUP, resources: ['modelservings/scale'], verbs: ['get', 'update'] },
  // Roles have no /scale of their own.
  { group: WORKLOAD_GROUP, resources: ['modelservings'], verbs: ['patch'] },
  // The mark of a leader is an annotation. Where the status takes it, the right on that is enough, and changes no pod.
  { group: 'apps', resources: ['deployments/status', 'statefulsets/status'], verbs: ['patch'] },
  { group: 'leaderworkerset.x-k8s.io', resources: ['leaderworkersets'], verbs: ['patch'] },
];

/** Roles of DisaggregatedSets, which come with the LeaderWorkerSet controller. */
const SCALED_ROLES: readonly AccessRule[] = [
  { group: 'disaggregatedset.x-k8s.io', resources: ['disaggregatedsetrolescalers/scale'], verbs: ['get', 'update'] },
  { group: 'disaggregatedset.x-k8s.io', resources: ['disaggregatedsetrolescalers'], verbs: ['get', 'patch'] },
];

const DEFAULT_REPLICAS = 2;
const LEASES = { group: 'coordination.k8s.io', resources: ['leases'] };

/**
 * L2: the autoscaler. Creates a Deployment of two pods of which one leads, a PodDisruptionBudget, a Service for their metrics, a ConfigMap,
 * and rights to read policies and pods, to write `/scale` and statuses, and to hold a Lease.
 *
 * @example
 * new Autoscaler(system, 'autoscaler', { config: { syncPeriodMs: 10_000 } });
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
    const config = {
      document: props.config ?? {},
      decode: decodeAutoscalerConfig,
      defaultConfig: defaultAutoscalerConfig,
    };
    this.config = checkedConfig(this, config);
    grantAccess(
      this,
      this.name,
      [
        { group: WORKLOAD_GROUP, resources: ['autoscalingpolicies', 'autoscalingpolicybindings'], verbs: READ },
        ...readWorkloads(this),
        // Written by routers for those that sleep.
        { ...LEASES, verbs: READ },
        {
          group: WORKLOAD_GROUP,
          resources: ['autoscalingpolicies/status', 'autoscalingpolicybindings/status'],
          verbs: ['get', 'patch', 'update'],
        },
        ...SCALED,
        ...(stackContext(this).cluster.leaderWorkerSet ? SCALED_ROLES : []),
        // Which models a workload serves: a request for one of them wakes it.
        { group: NETWORKING_GROUP, resources: ['modelservers', 'modelroutes'], verbs: READ },
        { group: 'autoscaling', resources: ['horizontalpodautoscalers'], verbs: READ },
        { group: '', resources: ['pods', 'resourcequotas'], verbs: READ },
        // Marks on those that go: drain and deletion cost.
        { group: '', resources: ['pods'], verbs: ['patch'] },
        { group: '', resources: ['events'], verbs: ['create', 'patch'] },
      ],
      // Those that are made cannot be told apart by name.
      [
        { ...LEASES, verbs: ['create'] },
        { ...LEASES, resourceNames: [this.config.leaseName], verbs: ['get', 'update'] },
      ],
    );
    const made = createImageDeployment(this, {
      ...config,
      name: this.name,
      part: 'autoscaler',
      image: props.image,
      replicas: props.replicas ?? DEFAULT_REPLICAS,
      args: [],
      ports: [],
      readiness: { path: '/readyz', port: 'metrics' },
      liveness: { path: '/healthz', port: 'metrics' },
      terminationGracePeriodSeconds: 30,
      cpu: props.cpu ?? '200m',
      memory: props.memory ?? '512Mi',
      pod: this.pod,
    });
    this.deployment = made.deployment;
    this.service = made.service;
  }
}
