import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { KvasirError } from '../../../src/errors';
import type { Credentials } from './credentials';

export interface KubeconfigChoice {
  /** Path of the file. @default the files of KUBECONFIG, else `~/.kube/config` */
  readonly file?: string;
  /** @default the file's current context */
  readonly context?: string;
}

/**
 * A context of a kubeconfig, with all that kubectl understands there: certificates, tokens and token files, exec plugins, proxies.
 *
 * @throws KvasirError `cluster/kubeconfig` when the file cannot be used, `cluster/context` when it has no such context.
 */
export async function kubeconfigCredentials({ file, context }: KubeconfigChoice): Promise<Credentials> {
  const config = new KubeConfig();
  try {
    if (file === undefined) config.loadFromDefault();
    else config.loadFromFile(file);
  } catch (error) {
    throw new KvasirError(
      {
        code: 'cluster/kubeconfig',
        ...(file === undefined ? {} : { file }),
        field: '--kubeconfig',
        message: `the kubeconfig cannot be used: ${(error as Error).message}`,
        remedy: 'give one that kubectl takes',
      },
      { cause: error },
    );
  }
  if (context !== undefined) {
    const known = config.getContexts().map(({ name }) => name);
    if (!known.includes(context)) {
      throw new KvasirError({
        code: 'cluster/context',
        field: '--context',
        message: `the kubeconfig has no context ${context}`,
        remedy: `use one of ${known.join(', ')}`,
      });
    }
    config.setCurrentContext(context);
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null || config.getCurrentContext() === 'loaded-context') {
    throw new KvasirError({
      code: 'cluster/kubeconfig',
      field: '--kubeconfig',
      message: 'there is no kubeconfig, or its current context names no cluster',
      remedy: 'give --kubeconfig or --context, or set KUBECONFIG',
    });
  }
  return {
    server: cluster.server.replace(/\/$/, ''),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? 'default',
    async connection() {
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      const { agent, auth, ca, cert, key, rejectUnauthorized, servername, headers } = options;
      const basic: Record<string, string> =
        typeof auth === 'string' ? { authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {};
      return {
        // Each call gets another agent; it matters only where it is one of a proxy.
        ...(cluster.proxyUrl === undefined ? {} : { agent }),
        ca,
        cert,
        key,
        rejectUnauthorized,
        servername,
        headers: { ...basic, ...textHeaders(headers) },
      };
    },
  };
}

function textHeaders(headers: RequestOptions['headers']): Record<string, string> {
  const entries = Object.entries((headers ?? {}) as Readonly<Record<string, unknown>>);
  return Object.fromEntries(entries.flatMap(([name, value]) => (typeof value === 'string' ? [[name.toLowerCase(), value]] : [])));
}
