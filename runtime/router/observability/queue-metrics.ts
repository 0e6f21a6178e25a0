import type { QueueConfig } from '../../../src/config/queue-config';
import type { HistogramSeries, Metrics, Series } from '../../lib/metrics';
import type { RouterErrorCode } from '../errors';

/** Bucket bounds in seconds, as Kthena's queue histograms have them, and longer ones: requests may wait for a minute. */
const WAIT_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Kthena's label for all users together. */
const ALL_USERS = '_all';

/** Series of one model in one family of queue metrics. */
interface QueueSeries {
  readonly size: Series;
  readonly duration: HistogramSeries;
  readonly cancelled: Series;
  readonly dequeued: Series;
  readonly inFlight: Series;
}

/** Metrics of requests that wait: Kthena's names for the fairness queue, and those for the session boost where that is on. */
export class QueueMetrics {
  private readonly byModel = new Map<string, readonly QueueSeries[]>();
  private readonly families: readonly ((model: string) => QueueSeries)[];
  private readonly refusals;
  private readonly overflows;
  private readonly classes;
  private readonly bytes;

  /** @param config decides which of Kthena's families there are. */
  constructor(metrics: Metrics, config: QueueConfig) {
    const makers = [queueFamily(metrics, 'kthena_router_fairness_queue', [ALL_USERS])];
    if (config.sessionBoost.enabled) makers.push(queueFamily(metrics, 'kthena_router_session_boost_queue', []));
    this.families = makers;
    this.refusals = metrics.counter('kvasir_router_queue_refusals_total', 'Requests refused for want of room.', [
      'model',
      'priority_class',
      'code',
    ]);
    this.overflows = metrics.counter(
      'kvasir_router_queue_overflows_total',
      'Requests that went to a provider for want of room.',
      ['model'],
    );
    this.classes = metrics.gauge('kvasir_router_queue_requests', 'Requests that wait.', ['priority_class']);
    this.bytes = metrics.gauge('kvasir_router_queue_bytes', 'Bytes of bodies that wait.').with();
  }

  waits(model: string, priorityClass: string | undefined, bytes: number): void {
    for (const { size } of this.of(model)) size.add(1);
    this.classes.with(priorityClass ?? 'none').add(1);
    this.bytes.add(bytes);
  }

  /** A request waits no longer. */
  left(model: string, priorityClass: string | undefined, bytes: number, how: 'went' | 'ended', waitedMs: number): void {
    for (const { size, duration, cancelled, dequeued } of this.of(model)) {
      size.add(-1);
      duration.observe(waitedMs / 1000);
      (how === 'went' ? dequeued : cancelled).add(1);
    }
    this.classes.with(priorityClass ?? 'none').add(-1);
    this.bytes.add(-bytes);
  }

  /** A request found room as it came. */
  passed(model: string): void {
    for (const { duration, dequeued } of this.of(model)) {
      duration.observe(0);
      dequeued.add(1);
    }
  }

  /** Requests of a model at endpoints, where their number is bound. */
  inFlight(model: string, change: number): void {
    for (const { inFlight } of this.of(model)) inFlight.add(change);
  }

  refused(model: string, priorityClass: string | undefined, code: RouterErrorCode): void {
    this.refusals.with(model, priorityClass ?? 'none', code).add(1);
  }

  overflowed(model: string): void {
    this.overflows.with(model).add(1);
  }

  private of(model: string): readonly QueueSeries[] {
    const known = this.byModel.get(model) ?? this.families.map((make) => make(model));
    this.byModel.set(model, known);
    return known;
  }
}

function queueFamily(metrics: Metrics, prefix: string, users: readonly string[]): (model: string) => QueueSeries {
  const labels = users.length === 0 ? ['model'] : ['model', 'user_id'];
  const size = metrics.gauge(`${prefix}_size`, 'Requests that wait.', labels);
  const duration = metrics.histogram(`${prefix}_duration_seconds`, 'How long requests waited.', labels, WAIT_SECONDS);
  const cancelled = metrics.counter(`${prefix}_cancelled_total`, 'Requests that ended while they waited.', labels);
  const dequeued = metrics.counter(`${prefix}_dequeue_total`, 'Requests that went on to an endpoint.', labels);
  const inFlight = metrics.gauge(`${prefix}_inflight`, 'Requests at endpoints, where their number is bound.', ['model']);
  return (model) => ({
    size: size.with(model, ...users),
    duration: duration.with(model, ...users),
    cancelled: cancelled.with(model, ...users),
    dequeued: dequeued.with(model, ...users),
    inFlight: inFlight.with(model),
  });
}
