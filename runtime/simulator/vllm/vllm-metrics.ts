import type { StepReport } from '../engine-core';
import type { EngineRank } from '../engine-rank';
import type { EngineOutcome, EngineRequest } from '../engine-request';
import type { FaceMetrics } from '../face-context';
import type { Generation } from '../generation';
import { Exposition, labels } from '../metrics/exposition';
import { RankMetrics, type RankMetricsOptions } from './rank-metrics';

/** vLLM's `/metrics`: one set of series for each data-parallel rank, told apart by the label `engine`. */
export class VllmMetrics implements FaceMetrics {
  private readonly ranks: readonly RankMetrics[];
  private readonly httpRequests = new Map<string, number>();
  private readonly createdAtSeconds: number;

  /** @param ranks asked for when something is counted or written. */
  constructor(options: RankMetricsOptions, ranks: () => readonly EngineRank[]) {
    const count = options.plan.dataParallelSize ?? 1;
    this.ranks = Array.from({ length: count }, (_, rank) => new RankMetrics(options, rank, () => ranks()[rank]!));
    this.createdAtSeconds = options.clock.now() / 1000;
  }

  arrived(generation: Generation): void {
    this.ranks[generation.rank]!.arrived(generation);
  }

  token(generation: Generation, atMs: number): void {
    this.ranks[generation.rank]!.token(generation, atMs);
  }

  ended(generation: Generation, outcome: EngineOutcome): void {
    this.ranks[generation.rank]!.ended(generation, outcome);
  }

  answered(method: string, handler: string, status: number): void {
    const key = labels({ handler, method, status: `${Math.floor(status / 100)}xx` });
    this.httpRequests.set(key, (this.httpRequests.get(key) ?? 0) + 1);
  }

  onAdmitted(_rank: number, _request: EngineRequest): void {}

  onStep(rank: number, step: StepReport): void {
    this.ranks[rank]!.onStep(step);
  }

  render(): string {
    const out = new Exposition(this.createdAtSeconds);
    for (const rank of this.ranks) rank.write(out);
    out.counter('http_requests', 'Answers by method, status and handler.', [...this.httpRequests]);
    return out.text();
  }
}
