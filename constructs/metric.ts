import { canonicalQuantity } from '../src/quantity';
import type { Engine } from './engine/engine';
import type { EngineMetrics } from './engine/engine-spec';

export interface CustomMetricOptions {
  /** Metric family on the engine's own metrics page. */
  readonly family: string;
  /** Value that one replica should have. */
  readonly target: number;
  /** Name in the policy. @default the family */
  readonly name?: string;
}

/**
 * What a policy scales by: a value that one replica should have.
 *
 * @example
 * const scaleOn = [Metric.runningRequests(24), Metric.kvCacheUsage(0.85)];
 * Metric.custom({ family: 'vllm:num_requests_swapped', target: 1 });
 */
export class Metric {
  /** Requests in a replica's batch, those that generate now. */
  static runningRequests(perReplica: number): Metric {
    return new Metric('running-requests', perReplica, 'runningRequests');
  }

  /** Requests that wait in a replica's queue. */
  static waitingRequests(perReplica: number): Metric {
    return new Metric('waiting-requests', perReplica, 'waitingRequests');
  }

  /** Share of a replica's KV cache in use, above 0 and up to 1. @throws RangeError outside of it. */
  static kvCacheUsage(share: number): Metric {
    if (!(share > 0 && share <= 1)) throw new RangeError(`Metric.kvCacheUsage(${share}): a share above 0 and up to 1`);
    return new Metric('kv-cache-usage', share, 'kvCacheUsage');
  }

  /** Any gauge of the engine's metrics page. */
  static custom({ family, target, name }: CustomMetricOptions): Metric {
    return new Metric(name ?? family, target, { family });
  }

  private constructor(
    readonly name: string,
    private readonly target: number,
    private readonly source: keyof EngineMetrics | { readonly family: string },
  ) {}

  /** The target as a quantity in the form in which the API server stores it. */
  get targetValue(): string {
    return canonicalQuantity(this.target);
  }

  /** Metric family by which `engine` exposes it; undefined when it has none. */
  familyOf(engine: Engine): string | undefined {
    return typeof this.source === 'string' ? engine.metrics[this.source] : this.source.family;
  }
}
