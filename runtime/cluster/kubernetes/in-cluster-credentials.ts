import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { KvasirError } from '../../../src/errors';
import type { Credentials } from './credentials';

const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface PodSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where the ServiceAccount's files are mounted. @default '/var/run/secrets/kubernetes.io/serviceaccount' */
  readonly folder?: string;
}

/** Whether this process runs in a pod that is told where the API is. */
export function isInCluster({ environment }: PodSurroundings): boolean {
  return (environment.KUBERNETES_SERVICE_HOST ?? '') !== '';
}

/**
 * The pod's own ServiceAccount. Its token is read anew for each request: the kubelet replaces the file long before a token expires.
 *
 * @throws KvasirError `cluster/no-service-account` when the files are not mounted.
 */
export function inClusterCredentials({ environment, folder = FOLDER }: PodSurroundings): Credentials {
  const host = environment.KUBERNETES_SERVICE_HOST ?? '';
  const port = environment.KUBERNETES_SERVICE_PORT ?? '443';
  const path = (name: string) => join(folder, name);
  let namespace: string;
  try {
    namespace = readFileSync(path('namespace'), 'utf8').trim();
  } catch (error) {
    throw new KvasirError(
      {
        code: 'cluster/no-service-account',
        file: path('namespace'),
        message: `cannot be read (${(error as NodeJS.ErrnoException).code})`,
        remedy: 'give the pod a ServiceAccount whose token is mounted, or give --kubeconfig',
      },
      { cause: error },
    );
  }
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    namespace,
    async connection() {
      const [ca, token] = await Promise.all([readFile(path('ca.crt'), 'utf8'), readFile(path('token'), 'utf8')]);
      return { ca, headers: { authorization: `Bearer ${token.trim()}` } };
    },
  };
}
