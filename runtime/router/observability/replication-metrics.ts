import type { Metrics } from '../../lib/metrics';

const LAG_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

export type RefusedReason = 'malformed' | 'unsigned' | 'repeated' | 'handshake';

/** What is told of the exchange with sibling routers. */
export class ReplicationMetrics {
  private readonly peers;
  private readonly running;
  private readonly bytesSent;
  private readonly bytesReceived;
  private readonly lag;
  private readonly gaps;
  private readonly snapshots;
  private readonly drops;
  private readonly refusals;

  constructor(metrics: Metrics) {
    this.peers = metrics.gauge('kvasir_replication_peers', 'Sibling routers whose requests in flight are known.').with();
    this.running = metrics.gauge('kvasir_replication_requests', 'Requests in flight of sibling routers.').with();
    const bytes = metrics.counter('kvasir_replication_bytes_total', 'Bytes exchanged with sibling routers.', ['direction']);
    this.bytesSent = bytes.with('sent');
    this.bytesReceived = bytes.with('received');
    this.lag = metrics
      .histogram('kvasir_replication_lag_seconds', 'From sending to receiving, by the clocks of both routers.', [], LAG_SECONDS)
      .with();
    this.gaps = metrics.counter('kvasir_replication_gaps_total', 'Times that something of a sibling was lost.').with();
    this.snapshots = metrics.counter('kvasir_replication_snapshots_total', 'Siblings’ shares received as a whole.').with();
    this.drops = metrics.counter('kvasir_replication_shares_dropped_total', 'Siblings whose share was dropped.', ['reason']);
    this.refusals = metrics.counter('kvasir_replication_refused_total', 'Messages that do not count.', ['reason']);
  }

  sent(bytes: number): void {
    this.bytesSent.add(bytes);
  }

  /** @param lagSeconds below 0 where the clocks of the two differ. */
  received(bytes: number, lagSeconds: number): void {
    this.bytesReceived.add(bytes);
    this.lag.observe(Math.max(0, lagSeconds));
  }

  gap(): void {
    this.gaps.add(1);
  }

  snapshot(): void {
    this.snapshots.add(1);
  }

  dropped(reason: 'silent' | 'left'): void {
    this.drops.with(reason).add(1);
  }

  refused(reason: RefusedReason): void {
    this.refusals.with(reason).add(1);
  }

  siblings(peers: number, running: number): void {
    this.peers.set(peers);
    this.running.set(running);
  }
}
