import type { Command } from 'commander';
import { KvasirError } from '../../src/errors';
import type { Clock } from '../lib/clock';
import { type Logger, logFindings } from '../lib/logger';
import type { Cluster } from './cluster';
import { openKubernetesCluster, type WatchedObjects } from './kubernetes';
import { chooseCredentials } from './kubernetes/choose-credentials';
import { openManifestCluster } from './manifests';

/** Flags by which a program is told of its cluster. */
export interface ClusterFlags {
  readonly cluster: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

export interface OpenClusterOptions {
  /** Name of the program. */
  readonly component: string;
  /** What it needs of a Kubernetes API. */
  readonly watch: WatchedObjects;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long a start waits for a Kubernetes API. After that the program runs, is not ready, and goes on trying. */
const START_MS = 5_000;

export function addClusterOptions(program: Command): Command {
  return program
    .requiredOption('--cluster <source>', 'a folder or file of manifests, or `kubernetes`')
    .option('--kubeconfig <file>', 'with `--cluster kubernetes`: file of addresses and credentials')
    .option('--context <name>', 'with `--cluster kubernetes`: context of the kubeconfig');
}

/**
 * Opens the cluster that the flags name.
 *
 * @throws KvasirError when there are no credentials, or flags that do not go together.
 */
export async function openCluster(flags: ClusterFlags, { component, watch, clock, log }: OpenClusterOptions): Promise<Cluster> {
  const { cluster: source, kubeconfig, context } = flags;
  if (source !== 'kubernetes') {
    const flag = kubeconfig !== undefined ? '--kubeconfig' : context !== undefined ? '--context' : undefined;
    if (flag !== undefined) {
      throw new KvasirError({
        code: 'cluster/flags',
        field: flag,
        message: `is for a Kubernetes API, and --cluster ${source} is a folder`,
        remedy: 'leave it out, or say --cluster kubernetes',
      });
    }
    return openManifestCluster({ paths: [source], clock, watch: true, onFinding: logFindings(log) });
  }
  const choice = { ...(kubeconfig === undefined ? {} : { file: kubeconfig }), ...(context === undefined ? {} : { context }) };
  const credentials = await chooseCredentials(choice, process.env);
  const cluster = openKubernetesCluster({ credentials, component, watch, clock, log, onFinding: logFindings(log) });
  if (await cluster.synced(START_MS)) log.info({ server: credentials.server }, 'the cluster was listed');
  else log.warn({ server: credentials.server }, 'the cluster is not listed yet; starting without it');
  return cluster;
}
