import { k8s } from 'cdk8s-plus-28';
import type { ModelSource } from './model-source';
import type { SecretRef } from './secret-ref';
import { containerSecurity, HOME, type PodSecurityOptions } from './workload/pod-security';

/** One download, as a container. */
export interface DownloadContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly source: ModelSource;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly mount: k8s.VolumeMount;
  readonly security: PodSecurityOptions;
}

/** Container that puts `source` into `folder`: arguments and environment are those of Kthena's downloader. */
export function downloadContainer(spec: DownloadContainerSpec): k8s.Container {
  const { source, folder, mount, security } = spec;
  const { literals, secrets } = settingsOf(source);
  return {
    name: spec.name,
    image: spec.image,
    args: ['--source', source.uri, '--output-dir', folder],
    env: [
      ...Object.entries({ HOME, ...literals, ...spec.env }).map(([name, value]) => ({ name, value })),
      ...Object.entries(secrets).map(([name, { name: secret, key }]) => ({
        name,
        valueFrom: { secretKeyRef: { name: secret, key } },
      })),
    ],
    // Downloads are bound by network and disk; the memory is for the buffers of parallel transfers.
    resources: { requests: { cpu: k8s.Quantity.fromNumber(1), memory: k8s.Quantity.fromString('2Gi') } },
    securityContext: containerSecurity(security),
    volumeMounts: [mount, { name: 'home', mountPath: HOME }, { name: 'tmp', mountPath: '/tmp' }],
  };
}

function settingsOf({ origin }: ModelSource): {
  readonly literals: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, SecretRef>>;
} {
  switch (origin.kind) {
    case 'hub': {
      const prefix = origin.hub === 'ms' ? 'MS' : 'HF';
      const token = origin.hub === 'ms' ? 'MS_TOKEN' : 'HF_AUTH_TOKEN';
      return {
        literals: origin.revision === undefined ? {} : { [`${prefix}_REVISION`]: origin.revision },
        secrets: origin.token === undefined ? {} : { [token]: origin.token },
      };
    }
    case 'bucket': {
      const { endpoint, credentials } = origin;
      return {
        literals: endpoint === undefined ? {} : { ENDPOINT: endpoint },
        secrets: credentials === undefined ? {} : { ACCESS_KEY: credentials.accessKey, SECRET_KEY: credentials.secretKey },
      };
    }
    default:
      return { literals: {}, secrets: {} };
  }
}
