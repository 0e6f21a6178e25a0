import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { KvasirError } from '../../src/errors';
import type { Clock } from '../lib/clock';
import { type Logger, logFindings } from '../lib/logger';
import type { Cluster } from './cluster';
import { Election } from './election/election';
import type { ElectionRules } from './election/election-state';
import { openKubernetesCluster, type WatchedObjects } from './kubernetes';
import { ApiClient } from './kubernetes/api-client';
import { chooseCredentials } from './kubernetes/choose-credentials';
import type { Credentials } from './kubernetes/credentials';
import { LeaseAccess } from './kubernetes/lease-access';
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
  /** How it is settled which of several processes may write. Nobody else writes to a folder, so there is no election there. @default each may */
  readonly election?: ElectionOptions;
}

/** An election by the Lease `leaseName` in the namespace of this process. */
export interface ElectionOptions extends Omit<ElectionRules, 'identity'> {
  readonly leaseName: string;
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
export async function openCluster(flags: ClusterFlags, options: OpenClusterOptions): Promise<Cluster> {
  const { component, watch, clock, log } = options;
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
  const entry = options.election && enterElection(options.election, credentials, { clock, log });
  const leadership = entry && { leadership: entry.election };
  const cluster = openKubernetesCluster({
    ...{ credentials, component, watch, clock, log, ...leadership },
    onFinding: logFindings(log),
  });
  if (await cluster.synced(START_MS)) log.info({ server: credentials.server }, 'the cluster was listed');
  else log.warn({ server: credentials.server }, 'the cluster is not listed yet; starting without it');
  if (entry === undefined) return cluster;
  return {
    ...cluster,
    async close() {
      await entry.leave();
      await cluster.close();
    },
  };
}

/** Asks over connections of its own, so that no long list holds a renewal up. */
function enterElection(
  { leaseName, ...times }: ElectionOptions,
  credentials: Credentials,
  { clock, log }: Pick<OpenClusterOptions, 'clock' | 'log'>,
): { readonly election: Election; leave(): Promise<void> } {
  const client = new ApiClient(credentials);
  const place = { namespace: credentials.namespace, name: leaseName };
  const store = new LeaseAccess(client, clock, place, times.leaseDurationMs);
  // A pod's hostname is its name. A container that starts again in it is another process, which waits like any other.
  const identity = `${hostname()}_${randomBytes(4).toString('hex')}`;
  const election = new Election({ rules: { identity, ...times }, store, clock, log });
  election.start();
  return {
    election,
    async leave() {
      await election.release();
      client.close();
    },
  };
}
