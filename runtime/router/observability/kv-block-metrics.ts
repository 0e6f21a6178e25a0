import type { Metrics } from '../../lib/metrics';

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const RATIO = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];

export type KvBlockStage = 'tokenize' | 'redis';

/** Kthena's metrics of `kvcache-aware`. */
export class KvBlockMetrics {
  private readonly ratio;
  private readonly seconds;
  private readonly errors;

  constructor(metrics: Metrics) {
    const histogram = (what: string, help: string) =>
      metrics.histogram(`kthena_router_kvcache_aware_${what}_duration_seconds`, help, ['model'], SECONDS);
    this.ratio = metrics.histogram(
      'kthena_router_kvcache_aware_match_ratio',
      'Share of a prompt’s blocks that the best pod holds.',
      ['model'],
      RATIO,
    );
    this.seconds = {
      tokenize: histogram('tokenize', 'How long an engine took to tokenize a prompt.'),
      redis: histogram('redis', 'How long Redis took to tell who holds a prompt’s blocks.'),
    };
    this.errors = metrics.counter(
      'kthena_router_kvcache_aware_errors_total',
      'Prompts of which nothing was found out in time, by what failed.',
      ['model', 'stage'],
    );
  }

  took(stage: KvBlockStage, model: string, seconds: number): void {
    this.seconds[stage].with(model).observe(seconds);
  }

  matched(model: string, ratio: number): void {
    this.ratio.with(model).observe(ratio);
  }

  failed(stage: KvBlockStage, model: string): void {
    this.errors.with(model, stage).add(1);
  }
}
