import type { QueueConfig } from '../../../../src/config/queue-config';

/** How requests for one model wait. */
export interface QueuePolicy {
  readonly maxExpectedWaitMs: number | undefined;
  /** Whether a provider takes what finds no room. */
  readonly overflows: boolean;
  /** Requests at endpoints at one time; 0: as many as pods take. */
  readonly maxConcurrent: number;
}

/** How requests wait, by the model that clients name. */
export class QueuePolicies {
  /** Whether the number of requests of some model is bound. */
  readonly boundConcurrency: boolean;
  private readonly common: QueuePolicy;
  private readonly byModel: ReadonlyMap<string, QueuePolicy>;

  constructor({ maxExpectedWaitMs, overflow, fairness, models }: QueueConfig) {
    this.common = { maxExpectedWaitMs, overflows: overflow, maxConcurrent: fairness.maxConcurrent };
    this.byModel = new Map(
      Object.entries(models).map(([model, own]) => [
        model,
        {
          maxExpectedWaitMs: own.maxExpectedWaitMs ?? maxExpectedWaitMs,
          overflows: own.overflow ?? overflow,
          maxConcurrent: own.maxConcurrent ?? fairness.maxConcurrent,
        },
      ]),
    );
    this.boundConcurrency = [this.common, ...this.byModel.values()].some(({ maxConcurrent }) => maxConcurrent > 0);
  }

  of(model: string): QueuePolicy {
    return this.byModel.get(model) ?? this.common;
  }
}
