import { createHash } from 'node:crypto';
import { ApiObject } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { ownedLabels } from './owned-labels';
import { podSecurity } from './workload/pod-security';

export interface DownloadJobProps {
  /** Name of the model; the Job's is `<name>-download-<hash>`. */
  readonly name: string;
  /** Run one after another. At least one. */
  readonly containers: readonly k8s.Container[];
  /** Volumes that they fill. */
  readonly volumes: readonly k8s.Volume[];
}

/** Failures after which a download is given up: a day of the back-off that doubles up to six minutes would be 240. */
const BACKOFF_LIMIT = 20;

/**
 * One run of downloads into a shared volume. Jobs cannot be changed, so the name carries a hash of all that it does; and it has no time
 * to live, after which Argo CD would make it again for ever.
 */
export class DownloadJob extends Construct {
  readonly resource: ApiObject;

  constructor(scope: Construct, id: string, { name, containers, volumes }: DownloadJobProps) {
    super(scope, id);
    const template = k8s.toJson_PodTemplateSpec({
      metadata: { labels: { app: `${name}-download` } },
      spec: {
        restartPolicy: 'OnFailure',
        automountServiceAccountToken: false,
        securityContext: podSecurity({}),
        initContainers: containers.slice(0, -1),
        containers: containers.slice(-1),
        volumes: [{ name: 'home', emptyDir: {} }, { name: 'tmp', emptyDir: {} }, ...volumes],
      },
    }) as object;
    const spec = { backoffLimit: BACKOFF_LIMIT, template };
    const hash = createHash('sha256').update(JSON.stringify(spec)).digest('hex').slice(0, 8);
    this.resource = new ApiObject(this, 'Resource', {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: `${name.slice(0, 45)}-download-${hash}`, labels: ownedLabels() },
      spec,
    });
  }
}
