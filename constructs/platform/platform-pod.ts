import { k8s } from 'cdk8s-plus-28';
import type { SecretRef } from '../secret-ref';
import { containerSecurity } from '../workload/pod-security';
import type { PodTemplate } from '../workload/pod-template';

/** User of Kvasir's own images, as their Dockerfiles set it. */
const USER = 65_532;

/** Keys of Secrets as files of one folder. */
export interface MountedFiles {
  /** Name of the volume. */
  readonly name: string;
  readonly folder: string;
  readonly files: readonly { readonly path: string; readonly secret: SecretRef }[];
}

/** A pod with one of Kvasir's own images. */
export interface PlatformPodSpec {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly serviceAccountName: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  /** ConfigMap mounted at `/etc/config`. */
  readonly configMap: string;
  /** Secrets that it reads as files. @default none */
  readonly files?: readonly MountedFiles[];
  readonly readiness: { readonly path: string; readonly port: string };
  readonly liveness: { readonly path: string; readonly port: string };
  readonly terminationGracePeriodSeconds: number;
  readonly cpu: string;
  readonly memory: string;
}

/** Where the configuration of Kvasir's images is mounted. */
export const CONFIG_FOLDER = '/etc/config';

/** The pod template of one of Kvasir's own images: least rights, one container, its configuration mounted. */
export function platformPod(spec: PlatformPodSpec): PodTemplate {
  const { files = [] } = spec;
  const probe = ({ path, port }: { readonly path: string; readonly port: string }) => ({
    httpGet: { path, port: k8s.IntOrString.fromString(port) },
  });
  const template: k8s.PodTemplateSpec = {
    metadata: { labels: spec.labels, annotations: spec.annotations },
    spec: {
      serviceAccountName: spec.serviceAccountName,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER,
        runAsGroup: USER,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      topologySpreadConstraints: ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
        topologyKey,
        maxSkew: 1,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: spec.labels },
      })),
      terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
      containers: [
        {
          name: spec.name,
          image: spec.image,
          args: [...spec.args],
          ports: spec.ports.map((port) => ({ ...port, protocol: 'TCP' })),
          resources: {
            requests: { cpu: k8s.Quantity.fromString(spec.cpu), memory: k8s.Quantity.fromString(spec.memory) },
            // Memory is bounded by configuration; a CPU limit would only add latency.
            limits: { memory: k8s.Quantity.fromString(spec.memory) },
          },
          readinessProbe: { ...probe(spec.readiness), periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 2 },
          livenessProbe: { ...probe(spec.liveness), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
          securityContext: containerSecurity({}),
          volumeMounts: [
            { name: 'config', mountPath: CONFIG_FOLDER, readOnly: true },
            ...files.map(({ name, folder }) => ({ name, mountPath: folder, readOnly: true })),
          ],
        },
      ],
      volumes: [{ name: 'config', configMap: { name: spec.configMap } }, ...files.map(secretVolume)],
    },
  };
  return k8s.toJson_PodTemplateSpec(template) as PodTemplate;
}

/** Projected, so that keys of several Secrets lie in one folder; what changes in them is seen without a restart. */
function secretVolume({ name, files }: MountedFiles): k8s.Volume {
  const sources = files.map(({ path, secret }) => ({ secret: { name: secret.name, items: [{ key: secret.key, path }] } }));
  return { name, projected: { sources } };
}
