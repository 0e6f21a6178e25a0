/**
 * How near to each other the pods of a gang are placed, by the tiers of Volcano's HyperNodes. Needs the plugin `network-topology-aware` in
 * Volcano's scheduler configuration, which its chart leaves out.
 */
export interface TopologyOptions {
  /** Whether the tier must be kept (pods wait) or should be. @default 'hard' */
  readonly mode?: 'hard' | 'soft';
  /** Highest network tier that the pods may span; 1 is the nearest. @default none */
  readonly highestTierAllowed?: number;
}

/** Pods that are only worth starting together. */
export interface GangOptions {
  /** Which scheduler places them all or none. LeaderWorkerSet and ModelServing bring a gang of their own, with Volcano only. */
  readonly scheduler: 'volcano' | 'coscheduling';
  /** `schedulerName` of the pods. @default 'volcano', or 'scheduler-plugins-scheduler' for coscheduling */
  readonly schedulerName?: string;
  /** Volcano queue that pays for them. It must be open. @default Volcano's `default` */
  readonly queue?: string;
  /**
   * Replicas that must fit at once. A PodGroup is static, so this is at most the smallest number of replicas; later replicas join one by
   * one.
   *
   * @default the smallest number of replicas
   */
  readonly minReplicas?: number;
  /** Nearness in the network; Volcano only. @default anywhere */
  readonly topology?: TopologyOptions;
  /** How long a coscheduling gang may wait before it gives its place to others, in seconds. @default the scheduler's */
  readonly scheduleTimeoutSeconds?: number;
}

/** Name of the scheduler that the pods of such a gang ask for. */
export function schedulerNameOf({ scheduler, schedulerName }: GangOptions): string {
  return schedulerName ?? (scheduler === 'volcano' ? 'volcano' : 'scheduler-plugins-scheduler');
}
