import type { Pod } from '../../src/api/pod';
import type { TargetRef } from './scaling';

/** What workloads would run, whether they have replicas now or not. */
export interface Workloads {
  /** Pods that a target would have with the least replicas that give one of every kind, from cache; none for what is no workload. */
  podsOf(target: TargetRef): readonly Pick<Pod, 'metadata' | 'spec'>[];
}
