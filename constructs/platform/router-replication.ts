import { Chart } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import type { RouterConfig } from '../../src/config/router-config';
import { ownedLabels } from '../owned-labels';
import type { SecretRef } from '../secret-ref';
import type { MountedFiles } from './platform-pod';
import { REPLICATION_PORT } from './ports';
import type { RedisServer } from './redis-server';

/** How copies of a router tell each other what they send where. */
export interface RouterReplication {
  /** At least 16 random bytes that only the copies know, from a Secret in the router's namespace. */
  readonly secret: SecretRef;
}

const FOLDER = '/etc/replication';
const SECRET = 'secret';

/** The section `replication` of the configuration document: through Redis where there is one, else from pod to pod. */
export function replicationSection(
  router: Construct,
  name: string,
  redis: RedisServer | undefined,
): Pick<RouterConfig, 'replication'> {
  const listen = `0.0.0.0:${REPLICATION_PORT}`;
  const siblings = [`${siblingsName(name)}.${Chart.of(router).namespace ?? 'default'}.svc:${REPLICATION_PORT}`];
  const secretFile = `${FOLDER}/${SECRET}`;
  return { replication: { secretFile, listen, ...(redis === undefined ? { siblings } : {}) } };
}

/** The files that `replicationSection` names. */
export function replicationFiles({ secret }: RouterReplication): MountedFiles {
  return { name: 'replication', folder: FOLDER, files: [{ path: SECRET, secret }] };
}

/** The headless Service by whose name copies find each other. */
export function createSiblingService(router: Construct, name: string): void {
  new k8s.KubeService(router, 'Siblings', {
    metadata: { name: siblingsName(name), labels: ownedLabels({ app: name }) },
    spec: {
      clusterIp: 'None',
      // A copy learns what the others have before it is ready, and theirs counts while it ends.
      publishNotReadyAddresses: true,
      selector: { app: name },
      ports: [
        {
          name: 'replication',
          port: REPLICATION_PORT,
          targetPort: k8s.IntOrString.fromNumber(REPLICATION_PORT),
          protocol: 'TCP',
        },
      ],
    },
  });
}

function siblingsName(name: string): string {
  return `${name}-siblings`;
}
