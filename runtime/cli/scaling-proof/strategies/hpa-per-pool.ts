import { parseMetricsPage } from '../../../autoscaler/observe/metrics-page';
import type { ServicePool } from '../service-pool';
import type { SimulatedPod } from '../simulated-fleet';
import { decideHpa, type HpaMemory, NO_HPA_MEMORY, type PodMetric } from './horizontal-pod-autoscaler';
import { PROMETHEUS_AGE } from './load-pages';
import type { Strategy, StrategyView } from './strategy';

const RUNNING = 'vllm:num_requests_running';
const FAMILIES: ReadonlySet<string> = new Set([RUNNING]);

/**
 * One HorizontalPodAutoscaler for each pool, on the running requests of its pods as an adapter has them from Prometheus. None of them goes
 * below one replica, which is the least that autoscaling/v2 admits for such a metric.
 */
export class HpaPerPool implements Strategy {
  private memories: readonly HpaMemory[];

  /** @param targets running requests that a pod of each pool should have. */
  constructor(
    private readonly pools: readonly ServicePool[],
    private readonly targets: readonly number[],
  ) {
    this.memories = pools.map(() => NO_HPA_MEMORY);
  }

  round({ fleet, pages, nowMs }: StrategyView): readonly number[] {
    const replicas = fleet.replicas();
    const decided = this.pools.map(({ min, max }, pool) => {
      const pods = fleet.pods.filter((pod) => pod.pool === pool).map((pod) => metricOf(pod, pages.of(pod, PROMETHEUS_AGE)));
      const spec = { min: Math.max(1, min), max, target: this.targets[pool]! };
      return decideHpa(spec, { current: Math.max(1, replicas[pool]!), pods, nowMs }, this.memories[pool]!);
    });
    this.memories = decided.map(({ memory }) => memory);
    return decided.map((each) => each.replicas);
  }
}

function metricOf({ phase }: SimulatedPod, page: string | undefined): PodMetric {
  if (phase === 'draining') return { phase: 'terminating' };
  // A container that loads its model runs already: its pod is not pending, and has no sample.
  if (page === undefined) return { phase: 'running' };
  const family = parseMetricsPage(page, FAMILIES).get(RUNNING);
  if (family === undefined || family.type === 'histogram' || family.type === 'summary') return { phase: 'running' };
  return { phase: 'running', value: [...family.series.values()].reduce((sum, value) => sum + value, 0) };
}
