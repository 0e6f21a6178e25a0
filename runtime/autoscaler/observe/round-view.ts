import type { Objects } from '../../cluster/objects';
import type { Scaling } from '../../cluster/scaling';
import type { Workloads } from '../../cluster/workloads';
import type { CapacityBook } from './capacity-book';
import type { HttpReader } from './http-reader';
import type { PodPages } from './pod-pages';
import type { PrometheusAccess } from './prometheus-access';
import type { Routers } from './router-pages';
import type { StartBook } from './start-book';
import type { WakeWatch } from './wake-watch';

/** What one round looks with. */
export interface RoundView {
  /** Monotonic time at which the round began. */
  readonly atMs: number;
  /** Milliseconds since the epoch then. */
  readonly nowMs: number;
  readonly isViewStale: boolean;
  readonly objects: Objects;
  readonly scaling: Scaling;
  readonly workloadPods: Workloads;
  readonly wakes: WakeWatch;
  readonly http: HttpReader;
  readonly prometheus: PrometheusAccess;
  readonly pages: PodPages;
  readonly routers: Routers;
  readonly capacities: CapacityBook;
  readonly starts: StartBook;
  /** Percentile that histograms are read at. */
  readonly percentile: number;
}
