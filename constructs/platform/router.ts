import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { decodeRouterConfig, defaultRouterConfig, type RouterConfig } from '../../src/config/router-config';
import type { Finding } from '../../src/errors';
import { Annotations, NETWORKING_GROUP } from '../../src/labels';
import { addCheck } from '../check';
import { RawDeployment } from '../kube/deployment';
import { objectName } from '../object-name';
import { ownedLabels } from '../owned-labels';
import { stackContext } from '../stack-context';
import { PodOverride } from '../workload/pod-override';
import { grantAccess, READ } from './access';
import { createConfigDocument } from './config-document';
import type { DeepPartial } from './deep-partial';
import { platformImage } from './platform-image';
import { CONFIG_FOLDER, platformPod } from './platform-pod';
import { DEBUG_PORT, METRICS_PORT, REQUEST_PORT } from './ports';

export interface RouterProps {
  /** Name of the objects. @default 'kvasir-router' */
  readonly name?: string;
  /** @default `<images.registry>/kvasir-router:<images.tag>` of the app */
  readonly image?: string;
  /** Copies; each serves on its own and they share nothing but the cluster. @default 2 */
  readonly replicas?: number;
  /** The configuration document; fields that are left out keep the image's defaults. @default none set */
  readonly config?: DeepPartial<RouterConfig>;
  /** CPU request of one copy. @default '1' */
  readonly cpu?: string;
  /** Memory request and limit of one copy: the body budget, the prefix index, and connections. @default '2Gi' */
  readonly memory?: string;
}

const CONFIG_FILE = 'routerConfiguration.yaml';
/** Time to close after the last stream was cut. */
const CLOSE_SECONDS = 10;

/**
 * L2: the router, OpenAI-compatible in front of all models. Creates a Deployment, a Service on port 80, a ConfigMap, a
 * PodDisruptionBudget, and read-only rights on routes, servers and pods.
 */
export class Router extends Construct {
  readonly name: string;
  readonly deployment: RawDeployment;
  readonly service: k8s.KubeService;
  /** The configuration that the image will have, defaults included. */
  readonly config: RouterConfig;
  /** Adds to the pods. */
  readonly pod = new PodOverride();

  constructor(scope: Construct, id: string, props: RouterProps = {}) {
    super(scope, id);
    this.name = objectName(this, props.name ?? 'kvasir-router');
    const selector = { app: this.name };
    const labels = ownedLabels(selector);
    const image = platformImage(this, 'router', props.image);
    const decoded = decodeRouterConfig(props.config ?? {});
    addCheck(this, () =>
      decoded.kind === 'valid' ? [] : decoded.findings.map((found) => ({ ...found, field: `config.${found.field}` })),
    );
    addCheck(this, () => (stackContext(this).cluster.kthenaServesRoutes ? [FOREIGN_ROUTER] : []));
    this.config = decoded.kind === 'valid' ? decoded.config : defaultRouterConfig();
    const { drain } = this.config;
    addCheck(this, () => unservedAuth(this.config.auth));

    grantAccess(this, this.name, [
      { group: NETWORKING_GROUP, resources: ['modelroutes', 'modelservers', 'externalmodelproviders'], verbs: READ },
      { group: '', resources: ['pods'], verbs: READ },
    ]);
    const { hash } = createConfigDocument(this, this.name, CONFIG_FILE, props.config ?? {});
    this.deployment = new RawDeployment(this, 'Resource', {
      metadata: { name: this.name, labels },
      spec: () => ({
        replicas: props.replicas ?? 2,
        selector: { matchLabels: selector },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        progressDeadlineSeconds: 600,
        revisionHistoryLimit: 3,
        template: this.pod.apply(
          platformPod({
            labels: selector,
            annotations: { [Annotations.configHash]: hash },
            name: 'router',
            image,
            args: [
              ...[
                '--cluster',
                'kubernetes',
                '--listen',
                `0.0.0.0:${REQUEST_PORT}`,
                '--metrics-listen',
                `0.0.0.0:${METRICS_PORT}`,
              ],
              ...['--debug-listen', `127.0.0.1:${DEBUG_PORT}`, '--config', `${CONFIG_FOLDER}/${CONFIG_FILE}`],
            ],
            serviceAccountName: this.name,
            ports: [
              { name: 'http', containerPort: REQUEST_PORT },
              { name: 'metrics', containerPort: METRICS_PORT },
            ],
            configMap: this.name,
            readiness: { path: '/readyz', port: 'http' },
            liveness: { path: '/healthz', port: 'http' },
            terminationGracePeriodSeconds: Math.ceil((drain.announceMs + drain.timeoutMs) / 1000) + CLOSE_SECONDS,
            cpu: props.cpu ?? '1',
            memory: props.memory ?? '2Gi',
          }),
        ),
      }),
    });
    this.service = new k8s.KubeService(this, 'Service', {
      metadata: { name: this.name, labels },
      spec: {
        selector,
        ports: [
          { name: 'http', port: 80, targetPort: k8s.IntOrString.fromString('http'), protocol: 'TCP' },
          { name: 'metrics', port: METRICS_PORT, targetPort: k8s.IntOrString.fromString('metrics'), protocol: 'TCP' },
        ],
      },
    });
    new k8s.KubePodDisruptionBudget(this, 'DisruptionBudget', {
      metadata: { name: this.name, labels },
      spec: {
        maxUnavailable: k8s.IntOrString.fromNumber(1),
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: selector },
      },
    });
  }
}

/** The image does not start with `auth`: letting everybody in would be worse. */
function unservedAuth(auth: RouterConfig['auth']): readonly Finding[] {
  const asked = (['jwksUri', 'issuer', 'audiences'] as const).find((field) => (auth?.[field] ?? '').length > 0);
  if (asked === undefined) return [];
  return [
    {
      code: 'config/auth-not-served',
      severity: 'error',
      field: `config.auth.${asked}`,
      message: `${JSON.stringify(auth?.[asked])} asks for tokens, which this version of the router does not check, so it would not start`,
      remedy: 'leave auth out and check tokens in front of the router',
    },
  ];
}

const FOREIGN_ROUTER = {
  code: 'coexistence/router',
  severity: 'error',
  message: "Kthena's router serves every ModelRoute of this cluster, these too",
  remedy: "leave the router out, or say kthena: 'absent' or 'workload' in Cluster.of",
} as const;
