import type { Metrics } from '../../lib/metrics';

/** What a certificate is for. */
export type TlsUse = 'listener' | 'engines';

/** What became of connections' encryption, and of the files that it needs. */
export class TlsMetrics {
  private readonly isGood;
  private readonly expiry;
  private readonly handshakes;
  private readonly floods;

  constructor(metrics: Metrics) {
    this.isGood = metrics.gauge(
      'kvasir_router_tls_last_reload_successful',
      '0 while certificate files cannot be used and the last good ones stay.',
      ['use'],
    );
    this.expiry = metrics.gauge('kvasir_router_tls_certificate_expiry_timestamp_seconds', 'When the certificate in use ends.', [
      'use',
    ]);
    this.handshakes = metrics
      .counter('kvasir_router_tls_handshake_failures_total', 'Connections of clients that ended before they were encrypted.')
      .with();
    this.floods = metrics
      .counter(
        'kvasir_router_http2_floods_total',
        'HTTP/2 connections that were ended because their client reset or pinged without end.',
      )
      .with();
  }

  /** @param expiresAtMs epoch; undefined without a certificate. */
  taken(use: TlsUse, expiresAtMs: number | undefined): void {
    this.isGood.with(use).set(1);
    if (expiresAtMs !== undefined) this.expiry.with(use).set(Math.round(expiresAtMs / 1000));
  }

  refused(use: TlsUse): void {
    this.isGood.with(use).set(0);
  }

  handshakeFailed(): void {
    this.handshakes.add(1);
  }

  flooded(): void {
    this.floods.add(1);
  }
}
