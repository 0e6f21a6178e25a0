import type { Metrics } from '../../lib/metrics';

/** What became of changes of the configuration file. */
export class ConfigMetrics {
  private readonly isGood;
  private readonly goodAt;
  private readonly awaiting;

  constructor(metrics: Metrics) {
    this.isGood = metrics
      .gauge(
        'kvasir_router_config_last_reload_successful',
        '0 while the configuration file cannot be used and the last good one stays.',
      )
      .with();
    this.goodAt = metrics
      .gauge('kvasir_router_config_last_reload_success_timestamp_seconds', 'When the configuration in use was taken over.')
      .with();
    this.awaiting = metrics
      .gauge(
        'kvasir_router_config_fields_awaiting_restart',
        'Fields of the configuration file that differ from those in use until a restart.',
      )
      .with();
  }

  /** @param atMs epoch. @param awaiting fields that need a restart. */
  taken(atMs: number, awaiting: number): void {
    this.isGood.set(1);
    this.goodAt.set(Math.round(atMs / 1000));
    this.awaiting.set(awaiting);
  }

  refused(): void {
    this.isGood.set(0);
  }
}
