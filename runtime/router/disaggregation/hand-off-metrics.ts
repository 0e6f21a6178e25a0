import type { HistogramSeries, Metrics } from '../../lib/metrics';
import type { ConnectorName } from './connector';
import type { HandOffEnd } from './hand-off-machine';

/** Bucket bounds in seconds, as Kthena's latency histograms have them. */
const LATENCY_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Why a decode pod computes a prompt itself. */
export type WholeReason =
  /** The API has no hand-off. */
  | 'path'
  /** The answer tells of the prompt's tokens. */
  | 'prompt-tokens'
  /** Several prompts or choices, and the connector takes one. */
  | 'several'
  /** Little of the prompt is not in its cache, so that a hand-off would take longer. */
  | 'short'
  /** No pair can take it now. */
  | 'no-pair'
  /** Prefill computed it, and handed nothing over. */
  | 'nothing-handed';

/** What is told of prefill and decode that are apart: Kthena's durations, and what became of hand-offs. */
export class HandOffMetrics {
  private readonly prefillSeconds;
  private readonly decodeSeconds;
  private readonly ends;
  private readonly wholes;
  private readonly pendings;
  private readonly leaks;

  constructor(metrics: Metrics) {
    const labels = ['model', 'path', 'status_code'];
    this.prefillSeconds = metrics.histogram(
      'kthena_router_request_prefill_duration_seconds',
      'From sending a prompt to a prefill pod to its answer.',
      labels,
      LATENCY_SECONDS,
    );
    this.decodeSeconds = metrics.histogram(
      'kthena_router_request_decode_duration_seconds',
      'From sending a request to a decode pod to the end of its answer.',
      labels,
      LATENCY_SECONDS,
    );
    this.ends = metrics.counter('kvasir_router_hand_offs_total', 'Hand-offs from prefill to decode by how they ended.', [
      'model_server',
      'connector',
      'end',
    ]);
    this.wholes = metrics.counter(
      'kvasir_router_prefills_skipped_total',
      'Requests that a decode pod computed from the prompt on, by reason.',
      ['model_server', 'reason'],
    );
    this.pendings = metrics.gauge(
      'kvasir_router_hand_offs_pending',
      'Hand-offs whose KV a prefill pod keeps until its lease ends, since decode did not fetch it.',
      ['model_server'],
    );
    this.leaks = metrics.counter('kvasir_router_hand_offs_leaked_total', 'Hand-offs whose KV nobody fetched within its lease.', [
      'model_server',
    ]);
  }

  ended(modelServer: string, connector: ConnectorName, end: HandOffEnd): void {
    this.ends.with(modelServer, connector, end).add(1);
  }

  whole(modelServer: string, reason: WholeReason): void {
    this.wholes.with(modelServer, reason).add(1);
  }

  pending(modelServer: string, change: 1 | -1): void {
    this.pendings.with(modelServer).add(change);
  }

  leaked(modelServer: string): void {
    this.leaks.with(modelServer).add(1);
  }

  /** @param isGood Kthena tells 200 and 500 apart, and nothing else. */
  durationOf(leg: 'prefill' | 'decode', model: string, path: string, isGood: boolean): HistogramSeries {
    return (leg === 'prefill' ? this.prefillSeconds : this.decodeSeconds).with(model, path, isGood ? '200' : '500');
  }
}
