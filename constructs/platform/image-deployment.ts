import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import type { Finding } from '../../src/errors';
import { Annotations } from '../../src/labels';
import { addCheck } from '../check';
import { RawDeployment } from '../kube/deployment';
import { ownedLabels } from '../owned-labels';
import type { PodOverride } from '../workload/pod-override';
import { createConfigDocument } from './config-document';
import { platformImage } from './platform-image';
import { CONFIG_FOLDER, type PlatformPodSpec, platformPod } from './platform-pod';
import { DEBUG_PORT, METRICS_PORT } from './ports';

/** A port of a Service and its pods. */
export interface ImagePort {
  readonly name: string;
  readonly port: number;
  readonly containerPort: number;
  /** What is spoken there, where its name alone does not say it to gateways. @default none */
  readonly appProtocol?: string;
}

/** What every image that is given a configuration document has of its own. */
export interface ImageDeploymentSpec<Config>
  extends Pick<PlatformPodSpec, 'readiness' | 'liveness' | 'terminationGracePeriodSeconds' | 'cpu' | 'memory' | 'files'> {
  /** Name of the objects. */
  readonly name: string;
  /** Which of Kvasir's images. */
  readonly part: 'router' | 'autoscaler';
  /** The image as somebody gave it. */
  readonly image: string | undefined;
  readonly replicas: number;
  /** Arguments before those that all images take. */
  readonly args: readonly string[];
  /** Ports of the Service and its pods, beside that of metrics. */
  readonly ports: readonly ImagePort[];
  readonly document: object;
  /** The part of the document that the image reads at its start alone. @default all of it */
  readonly restartPart?: (document: object) => object;
  readonly decode: (document: object) => Decoded<Config>;
  /** What the image is taken to have when the document is refused. */
  readonly defaultConfig: () => Config;
  readonly pod: PodOverride;
}

/** How reading a configuration document ended. */
type Decoded<Config> =
  | { readonly kind: 'valid'; readonly config: Config }
  | { readonly kind: 'invalid'; readonly findings: readonly Finding[] };

/** One of Kvasir's images in a cluster. */
export interface ImageDeployment {
  readonly deployment: RawDeployment;
  readonly service: k8s.KubeService;
}

/** The configuration that an image will have, defaults included. What the image would refuse is reported at synth. */
export function checkedConfig<Config>(
  construct: Construct,
  { document, decode, defaultConfig }: Pick<ImageDeploymentSpec<Config>, 'document' | 'decode' | 'defaultConfig'>,
): Config {
  const decoded = decode(document);
  addCheck(construct, () =>
    decoded.kind === 'valid' ? [] : decoded.findings.map((found) => ({ ...found, field: `config.${found.field}` })),
  );
  return decoded.kind === 'valid' ? decoded.config : defaultConfig();
}

/** Creates the ConfigMap, Deployment, Service and PodDisruptionBudget of an image; its rights are granted elsewhere, under the same name. */
export function createImageDeployment<Config>(scope: Construct, spec: ImageDeploymentSpec<Config>): ImageDeployment {
  const { name, part, ports } = spec;
  const selector = { app: name };
  const labels = ownedLabels(selector);
  const image = platformImage(scope, part, spec.image);
  const file = `${part}Configuration.yaml`;
  const { hash } = createConfigDocument(scope, name, file, spec.document, spec.restartPart ?? ((all) => all));
  const allPorts: readonly ImagePort[] = [...ports, { name: 'metrics', port: METRICS_PORT, containerPort: METRICS_PORT }];
  const deployment = new RawDeployment(scope, 'Resource', {
    metadata: { name, labels },
    spec: () => ({
      replicas: spec.replicas,
      selector: { matchLabels: selector },
      // The next pod knows the cluster before one goes; a leader that goes gives its lease back.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 3,
      template: spec.pod.apply(
        platformPod({
          ...spec,
          labels: selector,
          annotations: { [Annotations.configHash]: hash },
          name: part,
          image,
          args: [
            ...['--cluster', 'kubernetes', ...spec.args, '--metrics-listen', `0.0.0.0:${METRICS_PORT}`],
            ...['--debug-listen', `127.0.0.1:${DEBUG_PORT}`, '--config', `${CONFIG_FOLDER}/${file}`],
          ],
          serviceAccountName: name,
          ports: allPorts.map(({ name: port, containerPort }) => ({ name: port, containerPort })),
          configMap: name,
        }),
      ),
    }),
  });
  const service = new k8s.KubeService(scope, 'Service', {
    metadata: { name, labels },
    spec: {
      selector,
      ports: allPorts.map(({ name: port, port: number, appProtocol }) => ({
        name: port,
        port: number,
        ...(appProtocol === undefined ? {} : { appProtocol }),
        targetPort: k8s.IntOrString.fromString(port),
        protocol: 'TCP',
      })),
    },
  });
  new k8s.KubePodDisruptionBudget(scope, 'DisruptionBudget', {
    metadata: { name, labels },
    spec: {
      maxUnavailable: k8s.IntOrString.fromNumber(1),
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: selector },
    },
  });
  return { deployment, service };
}
