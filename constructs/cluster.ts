import { NodeLabels } from './node-labels';

/** Who serves Kthena's kinds in a cluster: nobody but Kvasir, or Kthena's workload or networking controllers, or both of them. */
export type KthenaPresence = 'absent' | 'workload' | 'networking' | 'both';

export interface ClusterFacts {
  /** Minor version of the API server, such as `1.31`. @default '1.28' */
  readonly kubernetes?: string;
  /** Which node labels name a GPU. @default NodeLabels.nvidia() */
  readonly nodeLabels?: NodeLabels;
  /**
   * Whether the LeaderWorkerSet controller is installed, with DisaggregatedSet; `{ gang: 'volcano' }` when it runs with Volcano as its
   * scheduler provider, by which it makes a gang of each replica.
   *
   * @default false
   */
  readonly leaderWorkerSet?: boolean | { readonly gang: 'volcano' };
  /** Whether the Volcano scheduler is installed. @default false */
  readonly volcano?: boolean;
  /** Whether a scheduler with the coscheduling plugin is installed. @default false */
  readonly coscheduling?: boolean;
  /** Which controllers of Kthena run here. @default 'absent' */
  readonly kthena?: KthenaPresence;
}

/**
 * What is known of the cluster that the manifests are for.
 *
 * @example
 * new GitOpsApp({ cluster: Cluster.of({ kubernetes: '1.31', leaderWorkerSet: true, volcano: true, kthena: 'absent' }) });
 */
export class Cluster {
  /** @throws RangeError when `kubernetes` is no version. */
  static of(facts: ClusterFacts): Cluster {
    const version = /^v?(\d+)\.(\d+)/.exec(facts.kubernetes ?? '1.28');
    if (version === null) throw new RangeError(`Cluster.of: kubernetes is ${facts.kubernetes}; write it as 1.31`);
    return new Cluster(
      [Number(version[1]), Number(version[2])],
      facts.nodeLabels ?? NodeLabels.nvidia(),
      facts.leaderWorkerSet !== undefined && facts.leaderWorkerSet !== false,
      typeof facts.leaderWorkerSet === 'object',
      facts.volcano ?? false,
      facts.coscheduling ?? false,
      facts.kthena ?? 'absent',
    );
  }

  private constructor(
    private readonly version: readonly [major: number, minor: number],
    readonly nodeLabels: NodeLabels,
    readonly leaderWorkerSet: boolean,
    /** Whether the LeaderWorkerSet controller makes a gang of each replica. */
    readonly leaderWorkerSetGangs: boolean,
    readonly volcano: boolean,
    readonly coscheduling: boolean,
    readonly kthena: KthenaPresence,
  ) {}

  /** Whether the API server is `minor` of Kubernetes 1 or newer. */
  isAtLeast(minor: number): boolean {
    return this.version[0] > 1 || (this.version[0] === 1 && this.version[1] >= minor);
  }

  /** Whether Kthena's own controllers act on the kinds that the router reads. */
  get kthenaServesRoutes(): boolean {
    return this.kthena === 'networking' || this.kthena === 'both';
  }

  /** Whether Kthena's own controllers act on policies and workloads. */
  get kthenaServesWorkloads(): boolean {
    return this.kthena === 'workload' || this.kthena === 'both';
  }
}
