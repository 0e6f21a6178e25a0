import type { Pod } from '../../../src/api/pod';
import type { MetricReading } from '../decide/observation';
import type { PodPage } from './pod-pages';

/** A pod of a target and its page, when it was asked. */
export interface AskedPod {
  readonly pod: Pod;
  /** Which replica of the target it belongs to. */
  readonly replica: string;
  /** Undefined: it is not ready and was not asked. */
  readonly page?: PodPage;
}

export interface FamilyQuery {
  readonly family: string;
  readonly percentile: number;
  /** Whether the target's replica count is that of a role in each of several groups. */
  readonly isPerGroup: boolean;
}

/** How the pages of a target's pods become a reading of one metric: one way per algorithm. Pure. */
export interface Reading {
  read(pods: readonly AskedPod[], query: FamilyQuery): MetricReading;
  /** Pods that the recommendation counts as unready. */
  countUnready(pods: readonly AskedPod[]): number;
}
