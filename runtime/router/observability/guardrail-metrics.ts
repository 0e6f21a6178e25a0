import type { Metrics } from '../../lib/metrics';

/** What a guardrail service said of requests and answers, and how long it took. */
export class GuardrailMetrics {
  private readonly verdicts;
  private readonly seconds;

  constructor(metrics: Metrics) {
    this.verdicts = metrics.counter(
      'kvasir_router_guardrail_verdicts_total',
      'Verdicts of the guardrail service, and failures to get one.',
      ['phase', 'verdict'],
    );
    this.seconds = metrics.histogram(
      'kvasir_router_guardrail_seconds',
      'From asking the guardrail service to its verdict.',
      ['phase'],
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    );
  }

  judged(phase: 'before' | 'after', verdict: 'allow' | 'refuse' | 'failure'): void {
    this.verdicts.with(phase, verdict).add(1);
  }

  took(phase: 'before' | 'after', seconds: number): void {
    this.seconds.with(phase).observe(seconds);
  }
}
